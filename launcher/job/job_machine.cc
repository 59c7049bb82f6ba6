#include "launcher/job/job_machine.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <signal.h>

#include "comm/base/text.h"
#include "launcher/job/job_text.h"
#include "launcher/system/signal_source.h"

namespace paceline::launcher {
namespace {

// How long a first failure waits for reports of earlier ones.
constexpr Duration kSettling = std::chrono::milliseconds(20);
// A rank that has lost another may say so before the other's end is seen, but not long before.
constexpr Duration kBlamePatience = std::chrono::milliseconds(300);

}  // namespace

JobMachine::JobMachine(const Rules& rules, const std::vector<JobHost>& hosts)
    : rules_(rules), restarts_(rules.restarts) {
  std::size_t ranks = 0;
  for (const JobHost& host : hosts) ranks += host.ranks.size();
  state_.ranks.resize(ranks);
  state_.epoch = rules.first_epoch;
  state_.outcome.ranks = static_cast<int>(ranks);
  take_hosts(hosts);
}

void JobMachine::take_hosts(const std::vector<JobHost>& hosts) {
  state_.hosts.clear();
  for (const JobHost& host : hosts) {
    for (const std::uint32_t rank : host.ranks) state_.ranks[rank].host = state_.hosts.size();
    state_.hosts.push_back({host});
  }
  silences_.assign(hosts.size(), {});
}

std::vector<JobCommand> JobMachine::handle(TimePoint now, const JobEvent& event) {
  now_ = now;
  std::visit([this](const auto& one) { on(one); }, event);
  return std::exchange(commands_, {});
}

TimePoint JobMachine::next_timer() const {
  return timers_.empty() ? TimePoint::max() : timers_.begin()->first;
}

void JobMachine::on(const JobBegins&) {
  begin_epoch();
  set_timer(kAlivePeriod, Timer::kSilence);
  if (rules_.timeout > Duration::zero()) set_timer(rules_.timeout, Timer::kTimeout);
}

void JobMachine::on(const TimePassed&) {
  while (!timers_.empty() && timers_.begin()->first <= now_) {
    switch (timers_.extract(timers_.begin()).mapped()) {
      case Timer::kSilence:
        look_for_silent_hosts();
        break;
      case Timer::kTimeout:
        stop(StopCause::kTimeout, SIGTERM,
             "the job has not ended within its --timeout of " + seconds_text(rules_.timeout));
        command(LimitOutput{rules_.grace});
        break;
      case Timer::kSettled:
        settled();
        break;
      case Timer::kBlame:
        if (!state_.outcome.cause) blame(*root_cause(state_.outcome.ends));
        break;
      case Timer::kRestart:
        if (!state_.outcome.cause) restart_or_find_hosts();
        break;
    }
  }
}

void JobMachine::start(std::size_t host, const messages::Meeting& meeting) {
  state_.hosts[host].phase = HostPhase::kStarting;
  state_.hosts[host].was_started = true;
  command(StartHost{.host = host, .meeting = meeting, .epoch = state_.epoch});
}

void JobMachine::on(const StartRefused& refused) {
  stop(StopCause::kLauncher, SIGKILL,
       "the program's arguments and environment variables are too long: " + refused.why.text());
  finish(refused.host);
}

// ---- Messages of agents ---------------------------------------------------------------------

void JobMachine::heard(TimePoint now, std::size_t host) {
  state_.hosts[host].heard = now;
  silences_[host].broken();
}

void JobMachine::on(const AgentSaid& said) {
  heard(now_, said.host);
  const messages::FromAgent& message = said.message;
  const bool is_of_this_start = message.epoch() == state_.epoch;
  switch (message.kind_case()) {
    case messages::FromAgent::kReady:
      return is_of_this_start ? ready(said.host, message.ready()) : void();
    case messages::FromAgent::kStarted:
      if (RankState* const rank = find(said.host, message.started().rank());
          rank != nullptr && is_of_this_start)
        rank->pid = message.started().pid();
      return;
    case messages::FromAgent::kExited:
      return is_of_this_start ? rank_ended(said.host, message.exited()) : void();
    case messages::FromAgent::kRefused:
      return refused(said.host, message.refused());
    case messages::FromAgent::kFailure:
      return fail_host(said.host, {.why = message.failure().text()});
    case messages::FromAgent::kNotice:
      return command(Say{in_host(state_, said.host, message.notice().text())});
    case messages::FromAgent::kFinished:
      return is_of_this_start ? finish(said.host) : void();
    case messages::FromAgent::kAskedToEnd:
      return asked_to_end(said.host, message.asked_to_end().signal());
    case messages::FromAgent::kOutput:  // for the console
    case messages::FromAgent::kTerminalOutput:
    case messages::FromAgent::kMeasured:  // for observers
    case messages::FromAgent::kLinks:
    case messages::FromAgent::kHost:
    case messages::FromAgent::kClockAsked:
    case messages::FromAgent::kStacksTaken:
    case messages::FromAgent::kInputTaken:
    case messages::FromAgent::kAlive:
    case messages::FromAgent::kSurveyed:  // of the time before
    case messages::FromAgent::kTried:
    case messages::FromAgent::kDescribed:
    case messages::FromAgent::KIND_NOT_SET:
      return;
  }
}

// Clocks of hosts differ by what they show at the same moment. The time that the message took is
// not known.
void JobMachine::ready(std::size_t host, const messages::Ready& ready) {
  HostState& state = state_.hosts[host];
  if (state.phase == HostPhase::kStarting) state.phase = HostPhase::kReady;
  state.clock_ahead = Duration(ready.time_ns()) - now_.time_since_epoch();
  if (host != 0 || state_.outcome.cause) return;
  for (std::size_t other = 1; other < state_.hosts.size(); ++other)
    if (state_.hosts[other].phase == HostPhase::kWaiting) start(other, ready.meeting());
}

void JobMachine::rank_ended(std::size_t host, const messages::RankExited& exited) {
  RankState* const rank = find(host, exited.rank());
  if (rank == nullptr || rank->ended) return;
  rank->ended = true;
  rank->end = in_words(exited);
  JobOutcome& outcome = state_.outcome;
  RankEnd end{.rank = static_cast<int>(exited.rank()),
              .wait_status = exited.wait_status(),
              .time_ns = exited.time_ns() - state_.hosts[host].clock_ahead.count()};
  if (exited.has_blamed()) end.blamed = static_cast<int>(exited.blamed());
  outcome.ends.push_back(end);
  restarts_.rank_ended(exited);
  if (outcome.ends.size() == state_.ranks.size()) command(EndGrace{});
  tell_those_who_wait(exited);
  const std::string operation = in_last_operation(exited.last_operation());
  if (outcome.cause == StopCause::kTimeout && !operation.empty())
    command(Say{describe_rank(state_, exited.rank()) + " was stopped" + operation});
  judge();
}

// A rank that fails ends the job. A rank that has ended well may still be waited for by another
// rank, which does not know of its end. The agent of the first host serves the store in which they
// wait.
void JobMachine::tell_those_who_wait(const messages::RankExited& exited) {
  if (exited.wait_status() != 0) return;
  messages::ToAgent message;
  message.mutable_rank_ended()->set_rank(exited.rank());
  message.mutable_rank_ended()->set_how("exit code 0");
  command(TellHost{.host = 0, .message = std::move(message)});
}

// Every rank is refused for the same reason; the first one to say so stops the job.
void JobMachine::refused(std::size_t host, const messages::RankRefused& refused) {
  if (RankState* const rank = find(host, refused.rank())) rank->ended = true;
  if (state_.outcome.cause) return;
  state_.outcome.refused_errno = refused.error();
  stop(StopCause::kRefused, SIGKILL, in_host(state_, host, refused.text()));
}

// The agent has sent the signal to its own ranks. stop() passes it on to the ranks of all others.
void JobMachine::asked_to_end(std::size_t host, int signal) {
  if (signal != SIGINT && signal != SIGHUP) signal = SIGTERM;
  requests_.came_elsewhere();
  stop(cause_of_signal(signal), signal,
       in_host(state_, host, "the agent received " + signal_name(signal)));
}

// An agent speaks of the ranks of its own host only.
RankState* JobMachine::find(std::size_t host, std::uint32_t rank) {
  return rank < state_.ranks.size() && state_.ranks[rank].host == host ? &state_.ranks[rank]
                                                                       : nullptr;
}

// ---- The end -------------------------------------------------------------------------------

// Not at once: the report of an earlier end may be on its way, and so may be that of a rank which
// this one holds responsible.
void JobMachine::judge() {
  const bool has_failed = root_cause(state_.outcome.ends) != nullptr;
  if (has_failed && !state_.outcome.cause && !std::exchange(judging_, true))
    set_timer(kSettling, Timer::kSettled);
}

void JobMachine::settled() {
  const auto blamed = root_cause(state_.outcome.ends)->blamed;
  const bool is_left = blamed && *blamed >= 0 && std::cmp_less(*blamed, state_.ranks.size()) &&
                       !state_.ranks[static_cast<std::size_t>(*blamed)].ended;
  set_timer(is_left ? kBlamePatience : Duration::zero(), Timer::kBlame);
}

void JobMachine::blame(const RankEnd& culprit) {
  state_.outcome.culprit = culprit;
  const auto rank = static_cast<std::size_t>(culprit.rank);
  std::string why = describe_rank(state_, rank) + " " + state_.ranks[rank].end;
  if (culprit.blamed)
    why += "; its error names " + name_rank(state_, *culprit.blamed) + " as the cause";
  const auto refusal = restarts_.refusal(now_);
  if (!refusal) return stop_to_restart(why);
  stop(StopCause::kRankFailed, SIGTERM, why + *refusal);
}

// ---- Requests to end -----------------------------------------------------------------------

void JobMachine::on(const SignalCame& came) {
  const int signal = came.signal;
  if (signal != SIGINT && signal != SIGTERM && signal != SIGHUP) {
    messages::ToAgent message;
    message.mutable_signal()->set_signal(signal);
    return command(TellAllHosts{std::move(message)});
  }
  const auto meaning = requests_.came(signal, now_, state_.outcome.cause.has_value());
  stop(cause_of_signal(signal), signal,
       came.why.empty() ? signal_name(signal) + " came" : came.why);
  command(LimitOutput{rules_.grace});
  if (came.kills || meaning == EndRequests::Meaning::kKill) order_stop(SIGKILL);
  if (state_.finished) command(DropOutput{});
}

void JobMachine::on(const OutputBroke& broke) {
  if (broke.error == EPIPE) return stop(StopCause::kOutputClosed, SIGTERM, "");
  stop(StopCause::kLauncher, SIGTERM,
       std::string("cannot write standard output: ") + std::strerror(broke.error));
}

// The first cause counts; what follows from it is neither blamed nor told.
void JobMachine::stop(StopCause cause, int signal, const std::string& why) {
  if (state_.outcome.cause) return;
  state_.outcome.cause = cause;
  epoch_ends(why);
  if (!why.empty()) command(Say{signal == SIGKILL ? why : why + ending_text(state_)});
  order_stop(signal);
  if (state_.is_restarting && all_finished()) end();
}

void JobMachine::order_stop(int signal) {
  tell_all_to_stop(signal);
  // The last output of a failed rank waits for its reader without a limit, until a signal or
  // --timeout requests the end.
  if (state_.outcome.cause == StopCause::kRankFailed && signal != SIGKILL) return;
  command(LimitOutput{signal == SIGKILL ? Duration::zero() : rules_.grace});
}

void JobMachine::tell_all_to_stop(int signal) {
  messages::ToAgent message;
  message.mutable_stop()->set_signal(signal);
  message.mutable_stop()->set_grace_ns(rules_.grace.count());
  message.mutable_stop()->set_restarts(state_.is_restarting && !state_.outcome.cause);
  command(TellAllHosts{std::move(message)});
}

// Agents that were told nothing have nothing to tell.
void JobMachine::finish(std::size_t host) {
  if (state_.hosts[host].phase == HostPhase::kFinished) return;
  state_.hosts[host].phase = HostPhase::kFinished;
  if (!all_finished() || state_.finished) return;
  // No other report can come.
  const RankEnd* const failure = root_cause(state_.outcome.ends);
  if (failure != nullptr && !state_.outcome.cause && !state_.is_restarting) blame(*failure);
  if (!state_.is_restarting || state_.outcome.cause) return end();
  say_victims();
  state_.outcome.culprit.reset();
  restarts_at_ = after(restarts_.delay());
  wait_to_restart(restarts_at_);
}

bool JobMachine::all_finished() const {
  return std::ranges::all_of(state_.hosts, [this](const HostState& host) {
    return host.phase == HostPhase::kFinished ||
           (host.phase == HostPhase::kWaiting && state_.outcome.cause);
  });
}

void JobMachine::end() {
  state_.finished = true;
  epoch_ends("all ranks ended well");
  say_victims();
  command(EndJob{});
}

void JobMachine::say_victims() {
  if (const std::string others = describe_victims(state_.outcome); !others.empty())
    command(Say{others});
}

}  // namespace paceline::launcher
