// How the time of a job divides, from the readings of its ranks: a value that grows.
//
//   readings of ranks -> JobAccount -> JobSummary -> closing lines, record, live view
//
// A rank waits in an operation until the last rank has called it; the rest of its exposed time is
// spent on moving data. So its exposed communication divides by the calls of all ranks to the same
// operation, of which each rank keeps the same samples (telemetry/operation_book.h).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <paceline/steps.h>

#include "comm/base/clock.h"
#include "telemetry/job/host_account.h"
#include "telemetry/job/link_account.h"
#include "telemetry/job/step_series.h"
#include "telemetry/job/straggler.h"
#include "telemetry/operation_book.h"

namespace paceline {

/// Where time goes. The first is the goal, the others are losses.
enum class Spent : std::uint8_t { kCompute, kMoving, kWaiting, kInput, kOther };
inline constexpr std::size_t kSpents = 5;
/// "moving data"
std::string_view name(Spent spent);
/// The one of this name.
std::optional<Spent> spent_named(std::string_view name);

/// How a rank has used its host since its start (launcher/agent/rank_usage.h).
struct RankUse {
  Duration time{};  ///< when it was read; not comparable between hosts; 0: never
  Duration running{}, queued{}, throttled{}, stopped{}, blocked{};
  std::uint64_t major_faults = 0;
  std::uint64_t resident_kib = 0;      ///< now
  HostFigures figures;                 ///< pressure on its control group, and its bytes on disks
  std::optional<std::uint32_t> gpu{};  ///< number of its GPU on its host, where it is known
};

/// The work of a rank up to now. All ranks have times of one clock.
struct RankReading {
  StepTotals steps;
  RankUse use;
  Duration exposed{};                     ///< also outside of steps
  std::int64_t begin_ns = 0, end_ns = 0;  ///< of its steps, as samples have times; 0: none
  TimePoint joined{};                     ///< it had found the other ranks; zero: it has not
  TimePoint until{};                      ///< when this was read, or when the rank ended
  Duration ahead{};                       ///< of its host's clock, taken off the times
  std::optional<Duration> clock_error{};  ///< of `ahead`; none: not known
  bool repeats_input = false;             ///< it was told to keep its input (paceline/steps.h)
};

/// Samples of a group's operations, which are new since the reading before.
struct RankSamples {
  std::uint64_t group = 0;   ///< id: the same on all its ranks
  int size = 0;              ///< number of its ranks
  std::uint64_t weight = 1;  ///< how many operations each stands for
  Duration ahead{};          ///< as in RankReading
  std::vector<OperationSample> samples;
};

/// All operations of a group that a rank has called.
struct RankTotals {
  std::uint64_t group = 0;  ///< as in RankSamples
  std::string name;         ///< of the group; empty: all ranks
  int size = 0;
  std::vector<OperationTotals> totals;
};

/// One rank's part in an operation.
struct OperationCall {
  int rank = 0;
  OperationSample sample{};
  Duration ahead{};            ///< as in RankReading
  std::int64_t waited_ns = 0;  ///< of its exposed time, until waited_for had called
  int waited_for = -1;         ///< rank; -1: it waits for no other one
};

/// An operation with the calls of all ranks of its group.
struct MatchedOperation {
  std::string group;         ///< its name; empty: all ranks
  std::uint64_t weight = 0;  ///< how many operations it stands for
  std::vector<OperationCall> calls;
};

/// The operations of one kind in a group.
struct OperationSummary {
  std::string group;  ///< its name; empty: all ranks
  int ranks = 0;      ///< of the group; 0: groups of several sizes
  OperationKind kind{};
  std::uint64_t count = 0, bytes = 0;       ///< of the rank with the most
  double seconds = 0, exposed_seconds = 0;  ///< means over the ranks that called it

  bool operator==(const OperationSummary&) const = default;
};

struct JobSummary {
  int ranks = 0;               ///< that the figures are of: they mark steps, or use the library
  int job_ranks = 0;           ///< all ranks of the job
  bool has_steps = false;      ///< false: shares are of the time after the ranks had met
  bool repeats_input = false;  ///< of some rank
  std::uint64_t steps = 0;     ///< of the rank with the most
  double seconds = 0;          ///< mean over ranks, of the time that is divided
  double samples_per_s = 0;    ///< of all ranks together; 0: not marked
  double flop_per_s = 0;
  double peak_flop_per_s = 0;  ///< of one rank's device, as the user states; 0: not stated
  std::array<double, kSpents> shares{};  ///< of that time, by Spent; they sum to 1
  /// Share of the time that all ranks waited for this one, the largest first. Their sum is the
  /// share of Spent::kWaiting.
  std::vector<std::pair<int, double>> waited_for;

  std::vector<StepBlock> blocks;             ///< the steps in their order; none without steps
  std::vector<OperationSummary> operations;  ///< the most exposed time first
  std::vector<LinkSummary> links;            ///< between hosts, the busiest first
  std::vector<SlowLink> slow_links;          ///< the slowest first
  std::vector<HostSummary> hosts;            ///< in the order of their ranks
  std::vector<RankEvidence> evidence;        ///< by rank, for what follows
  /// The ranks that were waited for much more than others.
  std::vector<Straggler> stragglers;

  /// Why others wait for the rank; kUnknown also if it is not a straggler.
  Cause cause_of(int rank) const;
  /// Model FLOP/s utilization: flop_per_s as a share of the peak of all ranks. None: one of them is
  /// not known.
  std::optional<double> mfu() const {
    if (peak_flop_per_s <= 0 || flop_per_s <= 0 || ranks == 0) return std::nullopt;
    return flop_per_s / (ranks * peak_flop_per_s);
  }
  double share(Spent spent) const { return shares[static_cast<std::size_t>(spent)]; }
  double step_seconds() const { return steps > 0 ? seconds / static_cast<double>(steps) : 0; }
};

class JobAccount {
 public:
  static constexpr std::size_t kMostGroups = 256;  ///< of a rank, without "others"

  /// Forgets all: the ranks start anew.
  void begin(int ranks);
  /// Replaces what was known of the rank, a number below that of begin().
  void take(int rank, RankReading reading);
  /// Returns the operations that all ranks of their group have reported with these samples.
  std::vector<MatchedOperation> take(int rank, const RankSamples& samples);
  /// Replaces what was known of the group. Of a rank with more groups than kMostGroups, those that
  /// were taken least recently are one group, "others": they have ended.
  void take(int rank, RankTotals totals);

  /// None: no rank has used the library.
  std::optional<JobSummary> summary() const;
  /// The last one of each rank. None: it has not used the library.
  const std::vector<std::optional<RankReading>>& readings() const { return readings_; }

 private:
  static constexpr std::size_t kMostCalls = 1 << 16;   // of operations that are not complete
  static constexpr std::size_t kMostUndecided = 1024;  // waits of a rank
  static constexpr std::size_t kMostSettledInOrder = 1024;

  // A rank's wait for an operation.
  struct Wait {
    std::int64_t called_ns = 0, ended_ns = 0;
    double exposed_ns = 0, waiting_ns = 0;
    int waited_for = -1;
  };
  struct Waits {
    std::vector<double> waiting_ns, exposed_ns;  // by rank
    std::vector<double> waited_for_ns;           // by rank: what others waited for it

    void resize(std::size_t ranks);
    void add(std::size_t rank, const Wait& wait);
  };
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // group, number of the operation
  struct Group {
    RankTotals totals;
    std::uint64_t taken = 0;  // the number of the take()
  };
  struct Groups {
    std::map<std::uint64_t, Group> by_id;
    std::optional<RankTotals> others;
    std::uint64_t takes = 0;
  };

  static void fold_oldest(Groups& groups);
  void count_steps(std::size_t rank, const RankReading& reading);
  std::vector<OperationSummary> operations() const;
  std::vector<RankEvidence> evidence_of(const JobSummary& summary) const;
  void settle(MatchedOperation& operation);
  void decide(std::size_t rank);

  std::vector<std::optional<RankReading>> readings_;
  StepBlock steps_;  // sums over ranks
  int ranks_with_steps_ = 0;
  StepSeries series_;
  // The first of each rank since it has joined, and marked steps if any rank does: what it used
  // before is not of the time that is judged.
  std::vector<std::optional<RankReading>> first_;
  std::vector<Groups> groups_;  // by rank
  std::map<Key, MatchedOperation> open_;
  std::deque<Key> order_;  // in which they came
  std::size_t open_calls_ = 0;
  Waits all_;                                // since the ranks met
  Waits in_steps_;                           // of operations in the rank's steps
  std::vector<std::deque<Wait>> undecided_;  // by rank: the step of the call has not ended yet
};

}  // namespace paceline
