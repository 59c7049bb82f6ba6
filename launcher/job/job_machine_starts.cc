// The starts of a job: epochs, hosts that are lost, restarts.
#include <algorithm>
#include <string>
#include <utility>

#include <signal.h>

#include "comm/base/text.h"
#include "launcher/job/job_machine.h"
#include "launcher/job/job_text.h"

namespace paceline::launcher {
namespace {

// Before its host is ready, an agent looks for programs, and their file systems may block it.
constexpr Duration kMaxSilentStart = std::chrono::seconds(25);

}  // namespace

void JobMachine::begin_epoch() {
  restarts_.began(now_);
  epoch_begun_ = false;
  EpochBegins begins{.epoch = state_.epoch};
  for (const HostState& host : state_.hosts)
    begins.members.push_back({.host = host.name, .workers = host.ranks});
  command(Record{std::move(begins)});
}

void JobMachine::on(const EpochRecorded& recorded) {
  epoch_begun_ = epoch_runs_ = recorded.why.ok();
  if (!epoch_begun_) stop(StopCause::kLauncher, SIGKILL, recorded.why.text());
  if (!state_.outcome.cause) return start(0);
  epoch_ends("the job ended before its ranks started");
  finish(0);
}

void JobMachine::epoch_ends(const std::string& why) {
  if (std::exchange(epoch_runs_, false))
    command(Record{EpochEnds{.epoch = state_.epoch, .why = why}});
}

// ---- Hosts that do not answer ----------------------------------------------------------------

void JobMachine::on(const AgentLost& lost) {
  HostState& host = state_.hosts[lost.host];
  if (state_.seeks_hosts) return note_loss(lost.host, "the agent is gone");
  if (!is_needed(lost.host)) {
    host.is_lost = true;
    return;
  }
  std::string with_it = "; it and " + ranks_text(host.ranks) + " were killed";
  if (host.phase == HostPhase::kFinished)
    with_it = state_.is_restarting ? "" : "; with it the job has lost its rendezvous store";
  lose(lost.host,
       {.why = "the agent is gone" + (lost.why.ok() ? "" : ": " + lost.why.text()) + with_it});
}

// While the head does not read, a host does not count as silent. The state of a host that is cut
// off, or whose agent does not run, is unknown: the job ends, or goes on, without it.
void JobMachine::look_for_silent_hosts() {
  for (std::size_t host = 0; host < state_.hosts.size(); ++host) {
    const HostState& state = state_.hosts[host];
    const Duration max_silence = max_agent_silence(rules_.max_silence, state.writes_files);
    const Duration patience =
        state.phase >= HostPhase::kReady ? max_silence : std::max(max_silence, kMaxSilentStart);
    if (!reading_ || !state.was_started || !is_needed(host)) continue;
    if (silences_[host].look(patience))
      lose(host, {.why = "the agent has not answered for " + seconds_text(patience) +
                         ": it is stopped, or its host is overloaded or unreachable",
                  .at_the_end = "; the job ends without it",
                  .fencing = kSilentFencing});
  }
  if (!state_.finished) set_timer(kAlivePeriod, Timer::kSilence);
}

// The agent of the first host serves the store, even if its own ranks have ended. For a restart all
// are needed. During a search, HostFinder reads which hosts are lost.
bool JobMachine::is_needed(std::size_t host) const {
  if (state_.seeks_hosts) return false;
  if (state_.hosts[host].phase != HostPhase::kFinished) return true;
  const bool serves = host == 0 || state_.is_restarting;
  return serves && !state_.hosts[host].is_lost && !state_.finished && !state_.outcome.cause;
}

void JobMachine::lose(std::size_t host, const Loss& loss) {
  const HostPhase phase = state_.hosts[host].phase;
  if (phase == HostPhase::kStarting || phase == HostPhase::kReady)
    fenced_ = std::max(fenced_, after(loss.fencing));
  fail_host(host, loss);
  finish(host);
  // In the wait for a restart, other hosts are sought at once.
  const bool waits = phase == HostPhase::kFinished && state_.is_restarting && all_finished();
  if (waits) wait_to_restart(now_);
}

// The first reason counts.
void JobMachine::note_loss(std::size_t host, const std::string& why) {
  HostState& state = state_.hosts[host];
  if (std::exchange(state.is_lost, true)) return;
  state.why_lost = why;
  state_.faults.add({.host = state.name, .why = why});
  if (epoch_begun_)
    command(Record{HostLost{.epoch = state_.epoch, .host = state.name, .why = why}});
}

// The host's ranks end, or are beyond reach. A restart does without it.
void JobMachine::fail_host(std::size_t host, const Loss& loss) {
  note_loss(host, loss.why);
  const std::string text = in_host(state_, host, loss.why);
  if (state_.outcome.cause) return command(Say{text + loss.at_the_end});
  if (state_.is_restarting) return command(Say{text});
  const auto refusal = restarts_.refusal(now_);
  if (!refusal) return stop_to_restart(text);
  stop(StopCause::kLauncher, SIGKILL, text + loss.at_the_end + *refusal);
}

// ---- Restarts ------------------------------------------------------------------------------

void JobMachine::stop_to_restart(const std::string& why) {
  state_.is_restarting = true;
  judging_ = true;  // ranks that end now do so by order
  for (HostState& host : state_.hosts)
    if (host.phase == HostPhase::kWaiting) host.phase = HostPhase::kFinished;
  std::erase_if(timers_, [](const auto& timer) {
    return timer.second == Timer::kSettled || timer.second == Timer::kBlame;
  });
  epoch_ends(why);
  const Duration fence = std::max(fenced_ - now_, Duration::zero());
  command(Say{why + ending_text(state_) + "; " + restarts_.announcement(now_, fence)});
  if (!all_finished()) tell_all_to_stop(SIGTERM);
}

void JobMachine::wait_to_restart(TimePoint until) {
  std::erase_if(timers_, [](const auto& timer) { return timer.second == Timer::kRestart; });
  timers_.emplace(std::max(until, fenced_), Timer::kRestart);
}

// If most hosts seem to be lost, it may be this one that is cut off. Their ranks may still run
// then, and no others may take their places.
void JobMachine::restart_or_find_hosts() {
  const auto lost =
      static_cast<std::size_t>(std::ranges::count_if(state_.hosts, &HostState::is_lost));
  const std::size_t members = state_.hosts.size() + 1;  // the head is one
  if (lost == 0) return restart();
  if (2 * lost > members)
    return stop(StopCause::kLauncher, SIGKILL,
                "no restart: " + std::to_string(lost) + " of " +
                    std::to_string(state_.hosts.size()) +
                    " hosts are lost, so it may be this host that is cut off");
  state_.seeks_hosts = true;
  command(FindHosts{});
}

void JobMachine::on(const HostsFound& found) {
  state_.seeks_hosts = false;
  if (state_.outcome.cause) return;
  if (!found.why.ok())
    return stop(StopCause::kLauncher, SIGKILL, "no restart: " + std::string(found.why.text()));
  take_hosts(found.hosts);
  for (HostState& host : state_.hosts) host.phase = HostPhase::kFinished;  // of the start before
  wait_to_restart(std::max(restarts_at_, now_));
}

void JobMachine::restart() {
  ++state_.epoch;
  state_.is_restarting = false;
  judging_ = false;
  state_.outcome.ends.clear();
  state_.outcome.culprit.reset();
  for (RankState& rank : state_.ranks) rank = {.host = rank.host};
  for (HostState& host : state_.hosts) host.phase = HostPhase::kWaiting;
  begin_epoch();
}

}  // namespace paceline::launcher
