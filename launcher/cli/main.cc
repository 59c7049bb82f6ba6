// paceline: picks the subcommand.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "launcher/cli/command.h"
#include "launcher/options/nearest.h"
#include "launcher/system/complain.h"
#include "launcher/system/exit_status.h"
#include "launcher/system/process_identity.h"

namespace paceline::launcher {
namespace {

// Without a summary: for paceline's own use, and in no list.
constexpr Command kCommands[] = {
    {"run", "start N ranks of a program and end with them", run_command},
    {"list", "list your jobs on this host", list_command},
    {"status", "show one of your jobs: its hosts, and the state of each rank", status_command},
    {"top", "show live what the time of one of your jobs goes to", top_command},
    {"cancel", "end one of your jobs", cancel_command},
    {"runs", "list your runs that have ended: their speed and scaling efficiency", runs_command},
    {"report", "write a page about a run: its findings, steps and ranks; or compare two runs",
     report_command},
    {"scale", "run a program with several numbers of ranks: its scaling efficiency and losses",
     scale_command},
    {"check", "find the host, link or setting that is bad", check_command},
    {"topo", "show the hardware of this machine and the links between its devices", topo_command},
    {"bench", "measure the speed of operations on this host", bench_command},
    {"tune", "measure the fastest methods for this machine, for later jobs", tune_command},
    {"lab", "make a virtual cluster on this machine, with injected faults", lab_command},
    {"info", "show the version and the environment variables", info_command},
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
  return complain("unknown command '" + word + "'" + did_you_mean(word, known) +
                  "\nTry: paceline --help");
}

// Commands that only read records or describe this machine start no processes.
bool has_processes(const Command& command) {
  constexpr std::array kWithout{"list", "status", "top", "runs", "report", "topo", "info"};
  return std::ranges::find(kWithout, command.name) == kWithout.end();
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
