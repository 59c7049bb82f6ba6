#include "launcher/control/snapshot.h"

#include <cstddef>

#include <sys/wait.h>

#include "comm/base/text.h"
#include "launcher/channel/build_name.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

constexpr const char* kWorker = "worker";

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

v1::Phase phase_of(const JobState& state) {
  if (state.finished) return v1::PHASE_ENDED;
  if (state.outcome.cause) return v1::PHASE_ENDING;
  return state.is_restarting ? v1::PHASE_RESTARTING : v1::PHASE_RUNNING;
}

v1::Cause cause_of(StopCause cause) {
  switch (cause) {
    case StopCause::kRankFailed:
      return v1::CAUSE_RANK_FAILED;
    case StopCause::kRefused:
      return v1::CAUSE_NOT_EXECUTED;
    case StopCause::kTimeout:
      return v1::CAUSE_TIMEOUT;
    case StopCause::kInterrupt:
      return v1::CAUSE_SIGINT;
    case StopCause::kTerminate:
      return v1::CAUSE_SIGTERM;
    case StopCause::kHangUp:
      return v1::CAUSE_SIGHUP;
    case StopCause::kOutputClosed:
      return v1::CAUSE_OUTPUT_CLOSED;
    case StopCause::kLauncher:
      return v1::CAUSE_LAUNCHER;
  }
  return v1::CAUSE_UNSPECIFIED;
}

v1::Host::Phase phase_of(HostPhase phase) {
  switch (phase) {
    case HostPhase::kWaiting:
      return v1::Host::PHASE_WAITING;
    case HostPhase::kStarting:
      return v1::Host::PHASE_STARTING;
    case HostPhase::kReady:
      return v1::Host::PHASE_READY;
    case HostPhase::kFinished:
      return v1::Host::PHASE_FINISHED;
  }
  return v1::Host::PHASE_UNSPECIFIED;
}

v1::Rank::State state_of(const RankState& rank) {
  if (rank.ended) return v1::Rank::STATE_ENDED;
  return rank.pid == 0 ? v1::Rank::STATE_WAITING : v1::Rank::STATE_RUNNING;
}

void add_hosts(const JobState& state, TimePoint now, v1::Snapshot& snapshot) {
  for (const HostState& host : state.hosts) {
    v1::Host& added = *snapshot.add_hosts();
    added.set_name(printable(host.name));
    added.set_phase(phase_of(host.phase));
    if (host.heard != TimePoint{}) added.set_seconds_since_heard(seconds(now - host.heard));
  }
}

void add_ranks(const JobState& state, v1::Snapshot& snapshot) {
  for (std::size_t index = 0; index < state.ranks.size(); ++index) {
    const RankState& rank = state.ranks[index];
    v1::Rank& added = *snapshot.add_ranks();
    added.mutable_member()->set_role(kWorker);
    added.mutable_member()->set_index(static_cast<std::uint32_t>(index));
    added.set_host(printable(state.hosts[rank.host].name));
    added.set_pid(static_cast<std::int32_t>(rank.pid));
    added.set_state(state_of(rank));
    added.set_end(printable(rank.end));  // a string of protobuf must be UTF-8
  }
  for (const HostState& host : state.hosts)
    for (std::size_t local = 0; local < host.ranks.size(); ++local)
      snapshot.mutable_ranks(static_cast<int>(host.ranks[local]))
          ->set_local_rank(static_cast<std::uint32_t>(local));
  for (const RankEnd& end : state.outcome.ends) {
    v1::Rank& rank = *snapshot.mutable_ranks(end.rank);
    if (WIFSIGNALED(end.wait_status)) {
      rank.set_exit_signal(WTERMSIG(end.wait_status));
    } else {
      rank.set_exit_code(WEXITSTATUS(end.wait_status));
    }
  }
}

}  // namespace

v1::Snapshot snapshot_of(const JobFacts& facts, const JobState* state, TimePoint now) {
  v1::Snapshot snapshot;
  snapshot.set_paceline_version(std::string(build_name()));
  snapshot.set_job_id(facts.id);
  snapshot.set_command(facts.command);
  snapshot.set_ablated(facts.ablated);
  snapshot.set_start_time_seconds(seconds(facts.begin_since_1970));
  snapshot.set_elapsed_seconds(seconds(now - facts.begin));
  snapshot.set_phase(state == nullptr ? v1::PHASE_STARTING : phase_of(*state));
  if (state == nullptr) {
    for (const std::string& host : facts.hosts) {
      v1::Host& added = *snapshot.add_hosts();
      added.set_name(printable(host));
      added.set_phase(v1::Host::PHASE_WAITING);
    }
    return snapshot;
  }
  snapshot.set_epoch(state->epoch);
  snapshot.set_restart_count(state->epoch);
  add_hosts(*state, now, snapshot);
  add_ranks(*state, snapshot);
  const JobOutcome& outcome = state->outcome;
  if (outcome.cause) snapshot.set_cause(cause_of(*outcome.cause));
  if (outcome.culprit) {
    snapshot.mutable_culprit()->set_role(kWorker);
    snapshot.mutable_culprit()->set_index(static_cast<std::uint32_t>(outcome.culprit->rank));
  }
  if (state->finished) snapshot.set_exit_code(exit_code(outcome));
  return snapshot;
}

}  // namespace paceline::launcher
