#include "launcher/head/job_snapshot.h"

#include <chrono>
#include <optional>

#include "comm/base/text.h"
#include "launcher/control/host_use.h"
#include "launcher/control/performance.h"

namespace paceline::launcher {

namespace v1 = job::v1;

namespace {

v1::Operation operation_of(const messages::Whereabouts& said, Duration since) {
  v1::Operation operation;
  operation.set_name(printable(said.operation()));
  operation.set_group(said.group());
  operation.set_sequence(said.sequence());
  operation.set_collective(said.collective());
  operation.set_running(said.running());
  operation.set_failed(said.failed());
  if (said.has_peer()) operation.set_peer(said.peer());
  operation.set_rank_count(said.size());
  operation.set_calls(said.calls());
  operation.set_seconds(std::chrono::duration<double>(Duration(said.lasts_ns()) + since).count());
  return operation;
}

}  // namespace

v1::Snapshot JobSnapshot::take() const {
  const TimePoint now = clock_.now();
  v1::Snapshot snapshot = snapshot_of(facts_, state_(), now);
  snapshot.set_output_blocked_seconds(
      std::chrono::duration<double>(console_.blocked_for()).count());
  for (int i = 0; i < snapshot.hosts_size(); ++i)
    if (const HostReading* const reading = telemetry_.host(static_cast<std::size_t>(i)))
      add_use(*reading, *snapshot.mutable_hosts(i));
  const auto& readings = telemetry_.readings();
  for (int i = 0; i < snapshot.ranks_size(); ++i) {
    const auto rank = static_cast<std::size_t>(i);
    v1::Rank& to = *snapshot.mutable_ranks(i);
    add_operations(rank, now, to);
    if (rank >= readings.size() || !readings[rank]) continue;
    const RankReading& reading = *readings[rank];
    const bool uses_library = reading.joined != TimePoint{} || reading.steps.steps > 0;
    if (uses_library) *to.mutable_work() = work_of(reading);
  }
  if (const auto summary = telemetry_.summary())
    *snapshot.mutable_performance() = performance_of(*summary);
  return snapshot;
}

// An agent says it each second, and the operation goes on meanwhile.
void JobSnapshot::add_operations(std::size_t rank, TimePoint now, v1::Rank& to) const {
  const auto& whereabouts = telemetry_.whereabouts();
  if (rank >= whereabouts.size() || !whereabouts[rank]) return;
  const auto& [said, communicators, heard] = *whereabouts[rank];
  *to.mutable_operation() = operation_of(said, now - heard);
  for (const messages::Whereabouts& one : communicators)
    *to.add_communicators() = operation_of(one, now - heard);
}

}  // namespace paceline::launcher
