// The work between two snapshots of a job. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "launcher/proto/job_v1.pb.h"
#include "telemetry/job/job_account.h"

namespace paceline::launcher {

struct JobInterval {
  double seconds = 0;
  /// Seconds of the steps by Spent, means over ranks. Waits and moving data are estimates. If a
  /// later snapshot corrects one downwards, it counts as 0.
  std::array<double, kSpents> spent{};
  double samples = 0;       ///< of all ranks
  std::uint64_t steps = 0;  ///< of the rank with the most

  /// The sum of `spent`.
  double spent_seconds() const;
};

/// If `before` is of an earlier start of the ranks, their work counts since the latest start.
JobInterval interval_of(const job::v1::Snapshot& before, const job::v1::Snapshot& now);

/// Seconds of a rank, named as in job_v1.proto.
struct RankInterval {
  double seconds = 0;  ///< of wall time
  double compute = 0, communication = 0, input = 0, other = 0;
  double running = 0, queued = 0, stopped = 0, blocked = 0, throttled = 0;

  double step_seconds() const { return compute + communication + input + other; }
};

/// Of a host between two readings. None: unknown.
struct HostInterval {
  std::optional<double> cpus_busy;  ///< number of CPUs that worked, a mean
  /// Shares of the time in which some task waited for a CPU, memory or a disk.
  std::optional<double> cpu_stalled, memory_stalled, io_stalled;
  std::optional<double> disk_bytes_per_s;     ///< read and written
  std::optional<double> network_bytes_per_s;  ///< received and sent
};

/// Of the host at this place of `now`. All is unknown if `before` does not have an earlier reading
/// of it.
HostInterval host_interval_of(const job::v1::Snapshot& before, const job::v1::Snapshot& now,
                              int host);

/// None: the rank has not worked in both, or was started anew between them.
std::optional<RankInterval> interval_of(const job::v1::Snapshot& before,
                                        const job::v1::Snapshot& now, int rank);

}  // namespace paceline::launcher
