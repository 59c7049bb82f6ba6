// How a rank of this host uses its CPUs and memory, by /proc and its control groups: evidence for
// why it is late.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "comm/base/clock.h"
#include "telemetry/job/figures.h"

namespace paceline::launcher {

/// Since the rank's start. Times of the thread that marks steps, else of the main thread.
struct RankUsage {
  std::int64_t time_ns = 0;        ///< when this was read; 0: it could not be
  std::int64_t run_ns = 0;         ///< on a CPU
  std::int64_t queued_ns = 0;      ///< ready to run, without a CPU; throttled time is part of it
  std::int64_t throttled_ns = 0;   ///< by the quota of its control group, or of one above
  std::int64_t stopped_ns = 0;     ///< by a signal or a debugger; by looks at its state
  std::int64_t blocked_ns = 0;     ///< in the kernel, mostly on disks; by looks at its state
  std::uint64_t major_faults = 0;  ///< pages of its process that had to be read
  std::uint64_t resident_kib = 0;  ///< of its process
  /// Pressure on its control group, and bytes of the thread's process on disks. Unknown where the
  /// kernel has no PSI, or the process is of another user.
  HostFigures figures;

  bool operator==(const RankUsage&) const = default;
};

class UsageReader {
 public:
  /// `process` is the main process of a rank. Tests pass a `root` that is put in front of /proc and
  /// of the mounted folders.
  explicit UsageReader(pid_t process, std::string root = "");

  /// The thread that marks steps; 0: the main thread. It may be of another process of the rank. A
  /// thread outside of the rank's process group is not taken: its number is of another PID
  /// namespace.
  void set_thread(pid_t thread);
  /// The main process, which leads the process group of the rank.
  pid_t process() const { return process_; }
  /// Looks at the state of the thread, which counts for the time since the last look.
  void look(TimePoint now);
  /// The last that was known, if the process has gone.
  const RankUsage& read(TimePoint now);

 private:
  std::string thread_folder() const;
  void read_figures();

  const std::string root_;
  const pid_t process_;
  pid_t thread_ = 0;
  std::optional<TimePoint> looked_at_;
  std::vector<std::string> groups_;  // folders with a cpu.stat
  std::string own_group_;            // folder of its group in version 2; empty: it has none
  RankUsage usage_;
};

}  // namespace paceline::launcher
