// paceline: picks the subcommand.
#include <cstdio>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "launcher/cli/command.h"
#include "launcher/options/nearest.h"
#include "launcher/system/exit_status.h"
#include "launcher/system/process_identity.h"

namespace paceline::launcher {
namespace {

// Without a summary: for paceline's own use, and in no list.
constexpr Command kCommands[] = {
    {"run", "start a program as N ranks and end with them", run_command},
    {"list", "your jobs on this host", list_command},
    {"cancel", "end one of them", cancel_command},
    {"check", "which host, link or setting is bad", check_command},
    {"topo", "what this machine is, and what lies between its devices", topo_command},
    {"bench", "how fast operations are on this host", bench_command},
    {"tune", "measure once which methods are the fastest on this machine", tune_command},
    {"lab", "a cluster on this machine, to try jobs and trouble in", lab_command},
    {"info", "the version, and the variables that tune a job", info_command},
    {"agent", "", agent_command},
};

// A closed standard descriptor would otherwise be the number of the next socket.
bool open_standard_descriptors() {
  for (;;) {
    const int fd = ::open("/dev/null", O_RDWR);
    if (fd < 0) return false;
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return true;
  }
}

void print_help() {
  std::puts("usage: paceline <command> [arguments…]\n\nCommands:");
  for (const Command& command : kCommands) {
    if (command.summary.empty()) continue;
    std::printf("  %-6s %s\n", std::string(command.name).c_str(),
                std::string(command.summary).c_str());
  }
  std::puts(
      "\nExamples:\n"
      "  paceline run -n 4 ./train --epochs 3\n"
      "  paceline run --help\n"
      "  paceline --version");
}

int unknown(const std::string& word) {
  std::vector<std::string> known{"--help", "--version"};
  for (const Command& command : kCommands)
    if (!command.summary.empty()) known.emplace_back(command.name);
  return complain("there is no command '" + word + "'" + did_you_mean(word, known) +
                  "\nTry: paceline --help");
}

// What looks at this machine or at records has no processes of its own.
bool has_processes(const Command& command) {
  return command.name != "list" && command.name != "topo" && command.name != "info";
}

int run(const Command& command, std::span<const std::string> arguments) {
  const Status lacks = has_processes(command) ? check_process_calls() : Status();
  return lacks.ok() ? command.run(arguments) : complain(lacks.text());
}

int dispatch(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    print_help();
    return words.empty() ? kExitLauncher : 0;
  }
  if (words[0] == "--version") {
    std::puts("paceline " PACELINE_VERSION);
    return 0;
  }
  for (const Command& command : kCommands)
    if (command.name == words[0]) return run(command, std::span(words).subspan(1));
  return unknown(words[0]);
}

}  // namespace
}  // namespace paceline::launcher

int main(int argc, char** argv) {
  if (!paceline::launcher::open_standard_descriptors()) return paceline::launcher::kExitLauncher;
  return paceline::launcher::dispatch(std::vector<std::string>(argv + 1, argv + argc));
}
