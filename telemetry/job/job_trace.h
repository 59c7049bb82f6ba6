// The trace of a job, as text that a file gets bit by bit: operations of ranks, waits for late
// ranks, and parts of steps. Pure.
//
//   starts, readings, operations, ends -> JobTrace -> TraceText, below TraceBudget
//
// Hosts are processes and ranks are threads. A slice is an operation of a rank, from its call to
// its end. Flows go from the rank that called an operation last to the ranks that waited for it.
// Operations of a rank that overlap are on threads of their own. Ranks that start again keep their
// threads, and a global instant marks the start. A label of each host has the error of its clock.
//
// If there is more than the budget allows, some operations are left out, on all ranks. Their
// numbers decide, like those of samples (telemetry/operation_book.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <paceline/steps.h>

#include "comm/base/clock.h"
#include "telemetry/job/job_account.h"
#include "telemetry/job/trace_budget.h"
#include "telemetry/job/trace_lane.h"
#include "telemetry/job/trace_text.h"

namespace paceline {

/// All times are of one clock. Ranks are numbers below that of begin_start().
class JobTrace {
 public:
  /// Larger operations have only some of their calls in the trace, others for each operation.
  static constexpr std::size_t kMostCalls = 1024;
  /// Threads of a rank. An operation that overlaps with so many others is left out.
  static constexpr std::size_t kLanes = 8;

  /// `begin` is time zero. `name` is the job's. A trace of `most_bytes` ends with a note.
  JobTrace(TimePoint begin, std::string_view name,
           std::size_t most_bytes = TraceBudget::kMostBytes);

  /// The ranks start, on these hosts.
  void begin_start(TimePoint now, std::vector<std::string> hosts, std::string_view what);
  void take(TimePoint now, int rank, const RankReading& reading);
  void take(TimePoint now, MatchedOperation operation);
  /// `how` in words: "exited with code 1".
  void rank_ended(TimePoint now, int rank, std::string_view how);
  /// An event of the whole job.
  void note(TimePoint now, std::string_view what);

  /// To be called about each second. Returns whole events, to be added to the file; may be empty.
  std::string text(TimePoint now);
  /// The rest. Nothing may follow.
  std::string end(TimePoint now);

 private:
  // The steps of a rank up to a moment, or its life where it marks none.
  struct Progress {
    bool has_steps = false;
    Duration at{};
    Duration of_host{};  // the same moment by the clock of the rank's host, which is not moved
    std::uint64_t steps = 0;
    std::array<Duration, kStepParts> parts{};
    std::uint64_t samples = 0;
  };
  struct Rank {
    int process = 0;
    std::array<TraceLane, kLanes> lanes;
    std::optional<Progress> shown;  // up to where its counter has been written
    std::optional<Progress> latest;
    TimePoint shown_when{};
    double samples_per_s = 0, samples_a_step = 0;
  };
  struct Pending {
    MatchedOperation operation;
    int level = 0;
    Duration begin{}, end{};
  };

  std::optional<Progress> progress_of(const RankReading& reading) const;
  Progress first_progress_of(const RankReading& reading) const;
  Duration after_begin(TimePoint when) const { return std::max(when - begin_, Duration::zero()); }
  int process_of(const std::string& host);
  TraceThread thread_of(int rank, std::size_t lane);
  void label_clock(int process);
  void set_samples_per_s(Rank& rank, double rate);
  void show_parts(int rank, const Progress& to);
  void show_samples(TimePoint now);
  void write_operations(Duration settled_by);
  void write(const MatchedOperation& operation);
  std::string take_text();

  const TimePoint begin_;
  TraceText text_;
  TraceBudget budget_;
  bool ended_ = false;
  std::vector<std::string> hosts_;               // of all starts
  std::map<std::string, int> processes_;         // by host
  std::set<int> named_processes_;                // named when they first have an event
  std::set<std::pair<int, int>> named_threads_;  // process, thread
  std::map<int, Duration> ahead_;                // clocks of hosts, by process
  std::map<int, Duration> clock_errors_;         // by process
  std::vector<Rank> ranks_;
  Duration parts_every_{};  // of each rank
  std::vector<Pending> pending_;
  std::size_t pending_calls_ = 0;
  std::optional<Pending> next_;  // it waits until the budget has room for it
  std::uint64_t next_flow_ = 1;
  double samples_per_s_ = 0;  // of all ranks
  double ended_per_s_ = 0;    // of it, by ranks that have ended: until it has been shown
  double shown_samples_per_s_ = 0;
  TimePoint samples_since_;
};

}  // namespace paceline
