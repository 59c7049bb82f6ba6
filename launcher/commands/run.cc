// paceline run: starts a job and stays until it has ended.
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/job_key.h"
#include "launcher/agent/host.h"
#include "launcher/commands/command.h"
#include "launcher/head/head.h"
#include "launcher/head/job_agents.h"
#include "launcher/head/job_hosts.h"
#include "launcher/head/job_start.h"
#include "launcher/head/pair_check.h"
#include "launcher/head/preflight.h"
#include "launcher/job/record.h"
#include "launcher/job/registry.h"
#include "launcher/options/run_options.h"
#include "launcher/process/process_identity.h"
#include "launcher/process/signal_source.h"

namespace paceline::launcher {
namespace {

// How long a killed process may take to close what it had open.
constexpr Duration kDying = std::chrono::seconds(2);

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

Result<std::string> make_job_key() {
  PACELINE_TRY_ASSIGN(const JobKey key, JobKey::generate());
  std::array<std::byte, JobKey::kBytes> bytes;
  key.copy_to(bytes);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// A folder that has been removed has no name; what is relative to it fails when it is used.
std::string current_directory() {
  std::error_code unnamed;
  const std::string current = std::filesystem::current_path(unnamed).string();
  return unnamed ? "." : current;
}

// -x NAME takes the value from here; a name without one is left out, as if it had not been given.
void fill_in_exports(ProgramSpec& program) {
  for (EnvironmentSetting& setting : program.environment) {
    if (setting.value) continue;
    if (const char* value = ::getenv(setting.name.c_str())) setting.value = value;
  }
  std::erase_if(program.environment, [](const EnvironmentSetting& setting) {
    if (!setting.value)
      complain("-x " + setting.name + ": not set here, so the ranks do not get it");
    return !setting.value;
  });
}

// What is ignored from the start stays so: nohup makes a job ignore SIGHUP. But a shell that
// ignores SIGINT for its background jobs does not keep anybody from sending it.
std::vector<int> signals_to_heed() {
  std::vector<int> signals{SIGINT, SIGTERM};
  for (const int signal : {SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
    struct sigaction inherited {};
    ::sigaction(signal, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) signals.push_back(signal);
  }
  return signals;
}

JobRecord describe(const JobSpec& job, const std::string& id, const Clock& clock) {
  std::vector<std::string> words;
  for (const ProgramSpec& program : job.programs) {
    if (!words.empty()) words.emplace_back(":");
    words.insert(words.end(), program.command.begin(), program.command.end());
  }
  return {.id = id,
          .host = host_name(),
          .head = identify(::getpid()).value_or(ProcessIdentity{.pid = ::getpid()}),
          .begin = clock.now(),
          .ranks = job.ranks(),
          .grace = job.grace,
          .command = command_line(words)};
}

// What crashed jobs have left is cleared away on the way.
Result<JobRegistry::Entered> enter_job(const JobRecord& record) {
  const JobRegistry registry(JobRegistry::here());
  registry.sweep();
  PACELINE_TRY_ASSIGN(JobRegistry::Entered entered, registry.enter(record));
  if (!entered.warning.empty()) complain("warning: " + entered.warning);
  return entered;
}

// The job's own part, whatever hosts it has.
Result<messages::Start> start_of(const JobSpec& job, const std::string& id,
                                 const std::string& cgroup) {
  messages::Start start = start_of(job);
  start.set_job_id(id);
  start.set_output_directory(
      expand_output_directory(job.output_directory, id, current_directory()));
  start.set_cgroup(cgroup);
  PACELINE_TRY_ASSIGN(*start.mutable_job_key(), make_job_key());
  return start;
}

// Until there is a head, what ends a job ends its start, and anything else has no ranks to go to.
struct SignalTarget {
  Head* head = nullptr;
  int early = 0;  // what came before
};

bool ends_jobs(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

Result<int> run_job(JobSpec job, const std::vector<HostShare>& hosts, const NetChoice& net,
                    Timings timings) {
  for (ProgramSpec& program : job.programs) fill_in_exports(program);
  ::signal(SIGCHLD, SIG_DFL);  // an inherited SIG_IGN would hide how the agent ended
  const SystemClock clock;
  EventLoop loop(clock);
  PACELINE_TRY_ASSIGN(const std::string id, make_job_id());
  PACELINE_TRY_ASSIGN(JobRegistry::Entered entered, enter_job(describe(job, id, clock)));
  JobHold& hold = entered.hold;
  // The agent may see its socket close, and send the helper away, while the head is still dying.
  const auto leave = [&, head = ::getpid()](bool alone) {
    alone || is_ending(head) ? hold.leave_after_others(clock, kDying) : hold.leave();
  };
  JobAgents agents(loop, timings, hosts);
  PACELINE_TRY(agents.start_here(leave));
  ::signal(SIGPIPE, SIG_IGN);
  Console console(loop, STDOUT_FILENO, STDERR_FILENO);
  PACELINE_TRY_ASSIGN(messages::Start start, start_of(job, id, entered.cgroup));
  start.set_terminal(console.output_is_terminal());
  SignalTarget target;
  PACELINE_TRY_ASSIGN(const auto signals,
                      SignalSource::watch(loop, signals_to_heed(), [&](int signal) {
                        if (target.head != nullptr) return target.head->signalled(signal);
                        if (signal == SIGTSTP) ::raise(SIGSTOP);
                        if (!ends_jobs(signal)) return;
                        target.early = signal;
                        loop.stop();
                      }));
  const Status started =
      agents.start_elsewhere(job, {.version = PACELINE_VERSION,
                                   .job_id = id,
                                   .said = [&](const std::string& host, std::string_view line) {
                                     console.say("host " + host + ": " + std::string(line));
                                   }});
  if (target.early != 0) return 128 + target.early;
  if (!started.ok()) return complain(started.text());
  PACELINE_TRY_ASSIGN(std::vector<HostAgent> parts, agents.take(start, current_directory()));
  const Status tried = check_pairs(
      loop, parts, {.choice = net, .warn = [](const std::string& text) { complain(text); }});
  if (target.early != 0) return 128 + target.early;
  if (!tried.ok()) return complain(tried.text());
  if (hosts.size() > 1) timings.came(Stage::kWays, clock.now());
  Head head(loop, console, timings, std::move(job), std::move(parts));
  target.head = &head;
  const int code = head.run();
  // What is to end before this process does need not wait for it to clear up.
  hold.let_go();
  return code;
}

}  // namespace

int run_command(std::span<const std::string> arguments) {
  if (run_asks_for_help(arguments)) {
    std::fputs(run_help().c_str(), stdout);
    return 0;
  }
  const SystemClock clock;
  Timings timings(clock.now());
  const Result<JobSpec> job = parse_run(arguments);
  if (!job.ok()) return complain(job.status().text() + "\nTry: paceline run --help");
  ::signal(SIGXFSZ, SIG_IGN);  // under `ulimit -f` writing fails, and says so
  const Result<std::vector<HostShare>> hosts = hosts_of(*job);
  if (!hosts.ok()) return complain(hosts.status().text());
  if (const Status known = check_engine(*job); !known.ok()) return complain(known.text());
  if (hosts->size() == 1 && is_this_host(hosts->front().host)) {
    const Status ready = preflight(*job, [](const std::string& text) { complain(text); });
    if (!ready.ok()) return complain(ready.text());
  }
  const Result<NetChoice> net = net_choice_of_environment();
  if (!net.ok()) return complain(net.status().text());
  timings.came(Stage::kRead, clock.now());
  const Result<int> code = run_job(*job, *hosts, *net, std::move(timings));
  return code.ok() ? *code : complain(code.status().to_string());
}

}  // namespace paceline::launcher
