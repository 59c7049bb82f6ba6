// paceline run: starts a job on this host and stays until it has ended.
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "comm/base/random.h"
#include "comm/base/try.h"
#include "launcher/agent/host.h"
#include "launcher/commands/command.h"
#include "launcher/engines/local.h"
#include "launcher/head/exit_code.h"
#include "launcher/head/head.h"
#include "launcher/options/run_options.h"
#include "launcher/process/signal_source.h"

namespace paceline::launcher {
namespace {

int complain(const std::string& text) {
  std::fprintf(stderr, "paceline: %s\n", text.c_str());
  return kExitLauncher;
}

Result<std::string> make_job_id() {
  std::array<std::byte, 8> bytes;
  PACELINE_TRY(fill_system_random(bytes));
  std::string id;
  for (const std::byte byte : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    id += kDigits[std::to_integer<unsigned>(byte) >> 4];
    id += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return id;
}

// -x NAME takes the value from here; a name without one is left out, as if it had not been given.
void fill_in_exports(JobSpec& job) {
  for (EnvironmentSetting& setting : job.environment) {
    if (setting.value) continue;
    if (const char* value = ::getenv(setting.name.c_str())) setting.value = value;
  }
  std::erase_if(job.environment, [](const EnvironmentSetting& setting) {
    if (!setting.value)
      complain("-x " + setting.name + ": not set here, so the ranks do not get it");
    return !setting.value;
  });
}

// nohup makes the job ignore SIGHUP; a shell that ignores SIGINT for its background jobs does not
// keep anybody from sending it.
std::vector<int> signals_to_heed() {
  struct sigaction hang_up {};
  ::sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler == SIG_IGN) return {SIGINT, SIGTERM};
  return {SIGINT, SIGTERM, SIGHUP};
}

Result<int> run_job(JobSpec job) {
  fill_in_exports(job);
  ::signal(SIGCHLD, SIG_DFL);  // an inherited SIG_IGN would hide how the agent ended
  const SystemClock clock;
  EventLoop loop(clock);
  PACELINE_TRY_ASSIGN(const StartedAgent agent, start_local_agent(loop));
  ::signal(SIGPIPE, SIG_IGN);
  Console console(loop, STDOUT_FILENO, STDERR_FILENO);
  messages::Start start = Head::make_start(job);
  PACELINE_TRY_ASSIGN(*start.mutable_job_id(), make_job_id());
  start.set_host(host_name());
  start.set_terminal(console.output_is_terminal());
  Head head(loop, *agent.channel, console, std::move(job));
  PACELINE_TRY_ASSIGN(const auto signals,
                      SignalSource::watch(loop, signals_to_heed(),
                                          [&head](int signal) { head.signalled(signal); }));
  return head.run(start);
}

}  // namespace

int run_command(std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) {
    std::fputs(run_help().c_str(), stdout);
    return 0;
  }
  const Result<JobSpec> job = parse_run(arguments);
  if (!job.ok()) return complain(job.status().text() + "\nTry: paceline run --help");
  const Result<int> code = run_job(*job);
  return code.ok() ? *code : complain(code.status().to_string());
}

}  // namespace paceline::launcher
