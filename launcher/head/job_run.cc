#include "launcher/head/job_run.h"

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/agent/rank_environment.h"
#include "launcher/control/control_service.h"
#include "launcher/head/binding_report.h"
#include "launcher/head/earlier_runs.h"
#include "launcher/head/head.h"
#include "launcher/head/host_finder.h"
#include "launcher/head/job_agents.h"
#include "launcher/head/job_files.h"
#include "launcher/head/job_inputs.h"
#include "launcher/head/job_recorders.h"
#include "launcher/head/job_signals.h"
#include "launcher/head/job_snapshot.h"
#include "launcher/head/job_start.h"
#include "launcher/head/job_telemetry.h"
#include "launcher/head/job_timings.h"
#include "launcher/head/rank_seats.h"
#include "launcher/head/seating.h"
#include "launcher/head/stack_requests.h"
#include "launcher/head/user_terminal.h"
#include "launcher/job/host_faults.h"
#include "launcher/options/exports.h"
#include "launcher/options/run_options.h"
#include "launcher/registry/record.h"
#include "launcher/registry/registry.h"
#include "launcher/registry/run_log.h"
#include "launcher/registry/run_text.h"
#include "launcher/system/complain.h"
#include "launcher/system/host.h"
#include "launcher/system/process_identity.h"
#include "launcher/system/signal_source.h"
#include "launcher/web/web_service.h"
#include "telemetry/log.h"

namespace paceline::launcher {
namespace {

// How long a killed process may take to close what it had open.
constexpr Duration kDying = std::chrono::seconds(2);

// A folder that has been removed has no name; what is relative to it fails when it is used.
std::string current_directory() {
  std::error_code unnamed;
  const std::string current = std::filesystem::current_path(unnamed).string();
  return unnamed ? "." : current;
}

// -x NAME takes the value from here; a name without one is left out, as if it had not been given.
void fill_in_exports(ProgramSpec& program) {
  Exports exports = exports_of(program.environment, inherited_environment());
  program.environment = std::move(exports.settings);
  for (const std::string& name : exports.missing)
    complain("-x " + name + ": the variable is not set here, so ranks do not get it");
}

JobRecord describe(const JobSpec& job, const std::string& id, const Clock& clock) {
  return {.id = id,
          .host = host_name(),
          .head = identify(::getpid()).value_or(ProcessIdentity{.pid = ::getpid()}),
          .begin = clock.now(),
          .ranks = job.ranks(),
          .grace = job.grace,
          .command = command_of(job)};
}

// Also removes the leftovers of crashed jobs.
Result<JobRegistry::Entered> enter_job(const JobRecord& record) {
  const JobRegistry registry(JobRegistry::here());
  registry.sweep();
  PACELINE_TRY_ASSIGN(JobRegistry::Entered entered, registry.enter(record));
  if (!entered.warning.empty()) complain("warning: " + entered.warning);
  return entered;
}

// The job's own part, whatever hosts it has.
Result<messages::Start> start_of(const JobSpec& job, const JobInputs& inputs, const std::string& id,
                                 const std::string& cgroup) {
  messages::Start start = start_of(job);
  start.set_max_epoch(start.max_epoch() + inputs.first_epoch());
  start.set_job_id(id);
  start.set_output_directory(
      expand_output_directory(job.output_directory, id, current_directory()));
  start.set_cgroup(cgroup);
  PACELINE_TRY_ASSIGN(*start.mutable_job_key(), make_job_key());
  return start;
}

// For people, by rank.
std::vector<std::string> devices_of(const Seating& seating) {
  std::vector<std::string> devices;
  if (seating.cluster.machines.empty()) return devices;
  for (const topology::Placed& rank : seating.plan.ranks)
    devices.push_back(devices_text(machine_of(seating.cluster, rank.host), rank.seat));
  return devices;
}

std::vector<BindingReport::Host> seats_of(const std::vector<HostAgent>& agents) {
  std::vector<BindingReport::Host> hosts;
  for (const HostAgent& agent : agents)
    hosts.push_back({.name = agent.start.host(),
                     .ranks = {agent.start.ranks().begin(), agent.start.ranks().end()},
                     .seats = {agent.start.seats().begin(), agent.start.seats().end()}});
  return hosts;
}

// The parts of a run that all its stages use.
struct RunContext {
  EventLoop& loop;
  JobAgents& agents;
  Timings& timings;
  HostFaults& faults;  // for --host-faults
  JobTelemetry& telemetry;
  JobRecorders& recorders;
  SignalTarget& target;
};

// The job with all its agents. `watchers` are borrowed.
Result<int> begin_job(const RunContext& context, Console& console, const JobSpec& job,
                      const JobInputs& inputs, const messages::Start& start,
                      const std::vector<JobObserver*>& watchers) {
  SignalTarget& target = context.target;
  const auto say = [&console](const std::string& text) { console.say(text); };
  HostFinder finder(context.loop, context.agents, job, inputs,
                    {.start = start,
                     .folder = current_directory(),
                     .say = say,
                     .is_cancelled = [&target] { return target.early != 0; },
                     .timings = context.timings,
                     .faults = context.faults});
  PACELINE_TRY_ASSIGN(FoundHosts found, finder.find());
  if (job.placement.dry_run) return 0;
  BindingReport bindings({.says_all = job.placement.report_bindings, .say = say});
  bindings.take_hosts(seats_of(found.agents), devices_of(found.seating));
  JobTimings stages(context.timings, say);
  std::vector<JobObserver*> observers{&bindings};
  observers.push_back(&context.telemetry);
  for (JobObserver* const recorder : context.recorders.observers()) observers.push_back(recorder);
  if (job.timings) observers.push_back(&stages);
  observers.insert(observers.end(), watchers.begin(), watchers.end());
  Head head(context.loop, console, job, std::move(found.agents), std::move(observers),
            inputs.membership.get());
  target.head = &head;
  std::optional<int> code = head.run();
  while (!code) {
    Result<FoundHosts> others = finder.replace_lost(head.state());
    if (!others.ok()) {
      code = head.go_on(others.status());
      continue;
    }
    bindings.take_hosts(seats_of(others->agents), devices_of(others->seating));
    code = head.go_on(std::move(others->agents));
  }
  for (const HostFault& one : head.state().faults.all()) context.faults.add(one);
  target.head = nullptr;
  return *code;
}

// The entry of the job in the registry.
struct JobEntry {
  JobRecord record;
  std::string folder;
};

JobFacts facts_of(const JobSpec& job, const JobRecord& record, const JobInputs& inputs,
                  const Clock& clock) {
  JobFacts facts{.id = record.id,
                 .command = record.command,
                 .ablated = job.ablation.to_text(),
                 .begin = record.begin,
                 .begin_since_1970 = SystemWallClock().since_1970() - (clock.now() - record.begin)};
  for (const HostShare& share : inputs.hosts.shares) facts.hosts.push_back(share.host);
  return facts;
}

// Null where the job has no entry, or this paceline has no service.
Result<std::unique_ptr<ControlService>> serve_clients(EventLoop& loop, const JobSpec& job,
                                                      const JobEntry& entry,
                                                      const JobSnapshot& snapshot,
                                                      StackRequests& stacks, SignalTarget& target) {
  const std::string missing = entry.folder.empty() ? "this job has no entry" : control_is_off();
  if (!missing.empty() && job.control.empty()) return std::unique_ptr<ControlService>();
  if (!missing.empty())
    return Status(Code::kUnavailable, Scope::kProcess, "--control is not possible: " + missing);
  return ControlService::start(
      loop,
      {.folder = entry.folder,
       .user = ::geteuid(),
       .tcp = job.control,
       .log = make_stderr_log({.level = LogLevel::kWarning}),
       .snapshot = [&snapshot] { return snapshot.take(); },
       .signalled = [&loop, &target](const SignalCame& came) { return asked(came, target, loop); },
       .take_stacks = [&stacks](const auto& ranks,
                                auto done) { stacks.take(ranks, std::move(done)); }});
}

// Null: nobody asks for pages.
Result<std::unique_ptr<WebService>> serve_pages(EventLoop& loop, Console& console,
                                                const JobSpec& job, const JobSnapshot& snapshot) {
  if (job.metrics.empty() && job.dashboard.empty()) return std::unique_ptr<WebService>();
  PACELINE_TRY_ASSIGN(
      auto service, WebService::start(loop, {.metrics = job.metrics,
                                             .dashboard = job.dashboard,
                                             .snapshot = [&snapshot] { return snapshot.take(); }}));
  for (const std::string& line : service->addresses()) console.say(line);
  return service;
}

// Returns the exit code of the job. Errors have been printed.
Result<int> run_stages(const RunContext& context, Console& console, const JobSpec& job,
                       const JobInputs& inputs, const JobEntry& entry, messages::Start start) {
  EventLoop& loop = context.loop;
  SignalTarget& target = context.target;
  start.set_terminal(console.output_is_terminal());
  if (auto terminal = terminal_at(STDIN_FILENO)) *start.mutable_input_terminal() = *terminal;
  PACELINE_TRY_ASSIGN(const auto signals,
                      SignalSource::watch(loop, signals_to_heed(),
                                          [&](int signal) { signalled(signal, target, loop); }));
  const JobSnapshot snapshot(
      facts_of(job, entry.record, inputs, loop.clock()),
      [&target] { return target.head ? &target.head->state() : nullptr; }, context.telemetry,
      console, loop.clock());
  PACELINE_TRY_ASSIGN(auto pages, serve_pages(loop, console, job, snapshot));
  StackRequests stacks(
      loop, {.state = [&target] { return target.head ? &target.head->state() : nullptr; },
             .send =
                 [&target](std::size_t host, const messages::ToAgent& message) {
                   return target.head != nullptr && target.head->ask(host, message);
                 }});
  PACELINE_TRY_ASSIGN(target.control, serve_clients(loop, job, entry, snapshot, stacks, target));
  std::vector<JobObserver*> watchers{&stacks};
  if (target.control) watchers.push_back(target.control.get());
  if (pages) watchers.push_back(pages.get());
  Result<int> code = begin_job(context, console, job, inputs, start, watchers);
  target.control.reset();
  pages.reset();
  if (code.ok()) return code;
  return target.early != 0 ? 128 + target.early : complain(code.status().text());
}

// None: the run is not recorded. Only runs of `paceline run` are.
std::optional<RunLog> run_log_of(const JobSpec& job) {
  if (!job.is_recorded || job.placement.dry_run) return std::nullopt;
  const auto folder = RunLog::user_folder([](const char* name) { return std::getenv(name); });
  return folder ? std::optional<RunLog>(*folder) : std::nullopt;
}

// The arguments are borrowed.
JobTelemetry::Options telemetry_of(const JobSpec& job, Console& console,
                                   const std::optional<RunLog>& runs, const JobRecord& record,
                                   JobTrace* trace) {
  JobTelemetry::Options options{.peak_flop_per_s = job.peak_flop_per_s, .trace = trace};
  if (!job.quiet) options.say = [&console](const std::string& text) { console.say(text); };
  options.ablation = job.ablation;
  if (!runs) return options;
  const auto like = [&record](const std::vector<std::string>& hosts) {
    return RunEntry{.ranks = record.ranks,
                    .hosts = hosts,
                    .command = record.command,
                    .directory = current_directory()};
  };
  if (job.ablation.is_any())
    options.whole = [&runs, like](const std::vector<std::string>& hosts) {
      return earlier_whole_run(runs->read(), like(hosts));
    };
  else
    options.baseline = [&runs, like](const std::vector<std::string>& hosts) {
      return earlier_baseline(runs->read(), like(hosts));
    };
  return options;
}

RunEntry entry_of(const JobSpec& job, const JobRecord& record, const JobTelemetry& telemetry,
                  int exit_code, const Clock& clock) {
  const std::chrono::duration<double> elapsed = clock.now() - record.begin;
  const std::chrono::duration<double> now = SystemWallClock().since_1970();
  return {.id = record.id,
          .begin_s = (now - elapsed).count(),
          .seconds = elapsed.count(),
          .exit_code = exit_code,
          .ranks = record.ranks,
          .restarts = telemetry.restarts(),
          .hosts = telemetry.hosts(),
          .command = record.command,
          .directory = current_directory(),
          .ablated = job.ablation,
          .figures = telemetry.figures()};
}

void keep_record(const RunLog& runs, const RunEntry& entry) {
  const Status kept = runs.append(entry);
  if (!kept.ok() && kept.code() != Code::kDenied)
    complain("warning: this run is not in the run record: " + kept.text());
}

// In a loop of its own: timers of the head are left in the other.
void leave_hosts(const Clock& clock, JobAgents& agents, SignalTarget& target) {
  EventLoop loop(clock);
  target.leaving = true;
  const auto signals = SignalSource::watch(loop, signals_to_heed(),
                                           [&](int signal) { signalled(signal, target, loop); });
  agents.end(loop);
}

Result<int> run(JobSpec job, const JobInputs& inputs, Timings timings) {
  for (ProgramSpec& program : job.programs) fill_in_exports(program);
  ::signal(SIGCHLD, SIG_DFL);  // an inherited SIG_IGN would hide how the agent ended
  PACELINE_TRY_ASSIGN(JobFiles files, JobFiles::make(job));
  const SystemClock clock;
  EventLoop loop(clock);
  PACELINE_TRY_ASSIGN(const std::string id, make_job_id());
  const JobRecord record = describe(job, id, clock);
  PACELINE_TRY_ASSIGN(JobRegistry::Entered entered, enter_job(record));
  JobHold& hold = entered.hold;
  // The agent may see its socket close, and send the helper away, while the head is still dying.
  const auto leave = [&, head = ::getpid()](bool alone) {
    alone || is_ending(head) ? hold.leave_after_others(clock, kDying) : hold.leave();
  };
  JobAgents agents(loop, timings);
  PACELINE_TRY(agents.start_here(job, inputs.hosts, leave));
  ::signal(SIGPIPE, SIG_IGN);
  PACELINE_TRY_ASSIGN(messages::Start start, start_of(job, inputs, id, entered.cgroup));
  HostFaults faults;
  SignalTarget target;
  std::optional<Console> console(std::in_place, loop, STDOUT_FILENO, STDERR_FILENO);
  const std::optional<RunLog> runs = run_log_of(job);
  std::optional<JobRecorders> recorders(
      std::in_place, files,
      JobRecorders::Options{.begin = record.begin,
                            .job = "job " + id,
                            .say = [&console](const std::string& text) { console->say(text); }});
  JobTelemetry telemetry(telemetry_of(job, *console, runs, record, recorders->trace()));
  Result<int> code = run_stages({.loop = loop,
                                 .agents = agents,
                                 .timings = timings,
                                 .faults = faults,
                                 .telemetry = telemetry,
                                 .recorders = *recorders,
                                 .target = target},
                                *console, job, inputs, {.record = record, .folder = entered.folder},
                                std::move(start));
  recorders.reset();
  console.reset();
  if (code.ok()) {
    const RunEntry entry = entry_of(job, record, telemetry, *code, clock);
    if (runs) keep_record(*runs, entry);
    const Status written = files.entry ? files.entry->keep(line_of(entry)) : Status();
    if (!written.ok()) complain(written.text());
  }
  leave_hosts(clock, agents, target);
  const Status kept =
      files.host_faults ? files.host_faults->keep(host_faults_json(faults.all())) : Status();
  if (!kept.ok()) complain("--host-faults: " + kept.text());
  // Agent and helper end before this process, and may clear up then.
  hold.let_go();
  return code;
}

}  // namespace

int run_job(JobSpec job, Timings timings) {
  outlive_file_limit();
  const Result<JobInputs> inputs = inputs_of(job, [](const std::string& text) { complain(text); });
  if (!inputs.ok()) return complain(inputs.status().text());
  const SystemClock clock;
  timings.came(Stage::kRead, clock.now());
  const Result<int> code = run(std::move(job), *inputs, std::move(timings));
  return code.ok() ? *code : complain(code.status().to_string());
}

}  // namespace paceline::launcher
