// Runs in the head.
#include "launcher/head/head.h"

#include <utility>
#include <variant>

#include <signal.h>

#include "launcher/head/job_start.h"
#include "launcher/system/signal_source.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

// Bytes that wait for the console before the agent's messages do.
constexpr std::size_t kMaxBacklogBytes = std::size_t{256} << 10;

std::vector<JobHost> hosts_of(const std::vector<HostAgent>& agents) {
  std::vector<JobHost> hosts;
  for (const HostAgent& agent : agents)
    hosts.push_back({.name = agent.start.host(),
                     .ranks = {agent.start.ranks().begin(), agent.start.ranks().end()},
                     .writes_files = !agent.start.output_directory().empty()});
  return hosts;
}

}  // namespace

Head::Head(EventLoop& loop, Console& console, const JobSpec& job, std::vector<HostAgent> agents,
           std::vector<JobObserver*> observers, MembershipFile* membership)
    : loop_(loop),
      console_(console),
      has_tags_(job.tags()),
      has_timestamps_(job.timestamps),
      output_limit_(loop, console),
      machine_({.timeout = job.timeout,
                .grace = job.grace,
                .max_silence = job.max_silence,
                .restarts = job.restarts,
                .first_epoch = first_epoch_after(membership)},
               hosts_of(agents)),
      observers_(std::move(observers)),
      membership_(membership) {
  take(std::move(agents));
  set_tags();
  console_.when_drained([this] {
    set_reading(true);
    end_when_printed();
  });
  console_.when_output_broken([this](int error) { handle(OutputBroke{error}); });
}

void Head::set_tags() {
  tags_.assign(state().ranks.size(), "");
  for (std::size_t rank = 0; rank < tags_.size() && has_tags_; ++rank)
    tags_[rank] = output_tag(static_cast<int>(rank), state().hosts[state().ranks[rank].host].name);
}

void Head::take(std::vector<HostAgent> agents) {
  hosts_.clear();
  for (HostAgent& agent : agents)
    hosts_.push_back({.agent = agent.channel, .start = std::move(agent.start)});
}

void Head::open_channels() {
  for (std::size_t host = 0; host < hosts_.size(); ++host)
    hosts_[host].agent.open(
        [this, host](const messages::FromAgent& message) { receive(host, message); },
        [this, host](const Status& why) { handle(AgentLost{.host = host, .why = why}); });
}

std::optional<int> Head::run() {
  open_channels();
  handle(JobBegins{});
  return follow_agents();
}

std::optional<int> Head::go_on(Result<std::vector<HostAgent>> agents) {
  HostsFound found{.why = agents.status(), .hosts = {}};
  if (agents.ok() && !state().outcome.cause) {
    found.hosts = hosts_of(*agents);
    take(*std::move(agents));
    open_channels();
  }
  handle(std::move(found));
  set_tags();
  return follow_agents();
}

std::optional<int> Head::follow_agents() {
  // It may have ended before the loop began.
  const Status waited = is_over() ? Status() : loop_.run();
  if (!waited.ok()) {
    report("head", waited);
    return kExitLauncher;
  }
  if (state().seeks_hosts) return std::nullopt;
  return exit_code(state().outcome);
}

// ---- Events -----------------------------------------------------------------------------

void Head::receive(std::size_t host, const messages::FromAgent& message) {
  machine_.heard(loop_.clock().now(), host);
  switch (message.kind_case()) {
    case messages::FromAgent::kOutput:
      return print(host, message.output());
    case messages::FromAgent::kTerminalOutput:
      console_.echo(message.terminal_output());
      return pause_if_behind();
    case messages::FromAgent::kInputTaken:
      if (input_ && message.epoch() == state().epoch)
        input_->taken(message.input_taken().bytes(), message.input_taken().closed());
      return;
    case messages::FromAgent::kClockAsked:
      return tell_time(host, message.clock_asked());
    default:
      return handle(AgentSaid{.host = host, .message = message});
  }
}

// At once: the time that an answer takes is the error of the clock.
void Head::tell_time(std::size_t host, const messages::ClockAsked& asked) {
  if (host >= hosts_.size()) return;  // other hosts are being found
  messages::ToAgent message;
  message.mutable_clock_told()->set_asked_ns(asked.time_ns());
  message.mutable_clock_told()->set_time_ns(loop_.clock().now().time_since_epoch().count());
  [[maybe_unused]] const Status sent = hosts_[host].agent.send(message);  // as for TellHost
}

bool Head::ask(std::size_t host, const messages::ToAgent& message) {
  const bool has_agent = host < hosts_.size() && !state().hosts[host].is_lost;
  return has_agent && hosts_[host].agent.send(message).ok();
}

void Head::print(std::size_t host, const messages::RankOutput& output) {
  const std::size_t rank = output.rank();
  if (rank >= tags_.size() || state().ranks[rank].host != host) return;
  const bool is_timed = has_timestamps_ && !tags_[rank].empty();
  console_.print(output.stream(),
                 is_timed ? timed_tag(tags_[rank], wall_clock_.since_1970()) : tags_[rank],
                 output.text(), output.ending());
  pause_if_behind();
}

void Head::pause_if_behind() {
  if (console_.backlog_bytes() > kMaxBacklogBytes) set_reading(false);
}

void Head::set_reading(bool on) {
  if (std::exchange(reading_, on) == on) return;
  for (const Host& host : hosts_) host.agent.set_reading(on);
  on ? handle(ReadingResumed{}) : handle(ReadingPaused{});
}

void Head::signalled(int signal) {
  if (signal == SIGTSTP) return pause();
  if (signal == SIGCONT && input_) input_->resume();
  if (signal == SIGWINCH && !input_) return;
  if (signal == SIGWINCH) input_->tell_window_size();  // before the signal tells of it
  if (signal == SIGQUIT) {
    input_.reset();  // with the modes of the terminal
    end_by(signal);
  }
  handle(SignalCame{signal});
}

// Ranks have no terminal that controls them, and SIGSTOP is obeyed by all.
void Head::pause() {
  handle(SignalCame{SIGSTOP});
  if (input_) input_->pause();
  ::raise(SIGSTOP);
}

// ---- Commands -----------------------------------------------------------------------------

// A command may cause an event, which is handled when all commands have been carried out.
void Head::handle(JobEvent event) {
  events_.push_back(std::move(event));
  if (std::exchange(handling_, true)) return;
  for (; !events_.empty(); events_.pop_front()) {
    const TimePoint now = loop_.clock().now();
    for (const JobCommand& command : machine_.handle(now, events_.front()))
      std::visit([this](const auto& one) { carry_out(one); }, command);
    for (JobObserver* const observer : observers_) observer->saw(now, events_.front(), state());
  }
  handling_ = false;
  if (input_ && state().hosts[input_host_].phase == HostPhase::kFinished) input_.reset();
  set_timer();
  end_when_printed();
}

void Head::carry_out(const StartHost& command) {
  Host& host = hosts_[command.host];
  messages::ToAgent message;
  *message.mutable_start() = host.start;
  if (command.host != 0) *message.mutable_start()->mutable_meeting() = command.meeting;
  number_start(*message.mutable_start(), command.epoch);
  output_limit_.ranks_start();
  const Status sent = host.agent.send(message);
  if (!sent.ok()) return handle(StartRefused{.host = command.host, .why = sent});
  if (!host.start.input_comes()) return;
  input_host_ = command.host;
  input_.emplace(loop_, STDIN_FILENO, [&host](const messages::ToAgent& input) {
    [[maybe_unused]] const Status taken = host.agent.send(input);  // as for TellHost
  });
  if (command.epoch > 0) input_->tell_window_size();  // the Start has that of the job's begin
}

// The log counts for the next epoch, so a job goes on without other entries.
void Head::carry_out(const Record& command) {
  const Status written = membership_ ? membership_->append(command.entry) : Status();
  if (std::holds_alternative<EpochBegins>(command.entry)) return handle(EpochRecorded{written});
  if (!written.ok()) console_.say("warning: " + std::string(written.text()));
}

void Head::carry_out(const DropOutput&) {
  drops_output_ = true;
  loop_.stop();
}

void Head::carry_out(const FindHosts&) {
  set_reading(true);
  input_.reset();
  hosts_.clear();
  loop_.stop();
}

void Head::carry_out(const TellHost& command) {
  // It is a few bytes: what could fail is the connection, and its end is an event.
  [[maybe_unused]] const Status sent = hosts_[command.host].agent.send(command.message);
}

void Head::carry_out(const TellAllHosts& command) {
  for (const Host& host : hosts_) {
    [[maybe_unused]] const Status sent = host.agent.send(command.message);  // as for TellHost
  }
}

void Head::set_timer() {
  if (timer_at_ == machine_.next_timer()) return;
  timer_at_ = machine_.next_timer();
  if (timer_) loop_.cancel(*timer_);
  timer_.reset();
  if (timer_at_ == TimePoint::max()) return;
  timer_ = loop_.at(timer_at_, [this] {
    timer_.reset();
    timer_at_ = TimePoint::max();
    handle(TimePassed{});
  });
}

// A search for hosts ends at once.
void Head::end_when_printed() {
  if (is_over() || (state().finished && state().seeks_hosts)) loop_.stop();
}

bool Head::is_over() const {
  const bool is_printed = drops_output_ || output_limit_.is_over() || console_.backlog_bytes() == 0;
  return state().finished && is_printed;
}

}  // namespace paceline::launcher
