// A run that has ended, as the run record has it: one JSON object on a line. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/ablation.h"
#include "telemetry/job/job_account.h"

namespace paceline::launcher {

inline constexpr std::size_t kMostRecordedRanks = 64;       ///< of a run
inline constexpr std::size_t kMostRecordedOperations = 64;  ///< of a run
inline constexpr std::size_t kMostRecordedLinks = 64;       ///< of a run
inline constexpr std::size_t kMostRecordedHosts = 64;       ///< of a run
inline constexpr std::size_t kMostRecordedGpus = 64;        ///< of a run, on all hosts
inline constexpr std::size_t kMostRecordedBlocks = StepSeries::kMostBlocks;

/// A rank for which others waited.
struct WaitedFor {
  int rank = 0;
  std::string host;
  double share = 0;   ///< of the time of all ranks
  std::string cause;  ///< in words; empty: unknown, or the rank is not a straggler

  bool operator==(const WaitedFor&) const = default;
};

/// The speed of the ranks that used the library (telemetry/job/job_account.h).
struct RunFigures {
  bool has_steps = false;
  bool repeats_input = false;  ///< some rank did
  std::uint64_t steps = 0;
  double step_seconds = 0;
  double samples_per_s = 0;  ///< 0: not marked
  double flop_per_s = 0;
  double peak_flop_per_s = 0;  ///< of one rank's device; 0: not stated
  std::optional<double> mfu;
  double efficiency = 0;                 ///< scaling efficiency, 0 to 1
  bool is_measured = false;              ///< false: the efficiency is an estimate
  std::map<std::string, double> shares;  ///< of the time: "compute", "moving data", …
  /// At most kMostRecordedOperations, the most exposed time first.
  std::vector<OperationSummary> operations;
  std::vector<WaitedFor> waited_for;  ///< at most kMostRecordedRanks, the largest first
  std::vector<LinkSummary> links;     ///< at most kMostRecordedLinks, the busiest first
  std::vector<SlowLink> slow_links;   ///< at most kMostRecordedLinks, the slowest first
  /// At most kMostRecordedHosts, in the order of their ranks; five digits of each number.
  std::vector<HostSummary> hosts;
  /// By rank, of small jobs: the evidence for the causes.
  std::vector<RankEvidence> ranks;
  /// At most kMostRecordedBlocks; five digits of each number.
  std::vector<StepBlock> blocks;

  bool operator==(const RunFigures&) const = default;
};

struct RunEntry {
  std::string id;
  double begin_s = 0;  ///< since 1970
  double seconds = 0;
  int exit_code = 0;
  int ranks = 0;
  int restarts = 0;
  std::vector<std::string> hosts;
  std::string command;
  std::string directory;  ///< where it was started
  Ablation ablated;       ///< what --ablate left out: results are wrong, times are a ceiling
  std::optional<RunFigures> figures;

  bool operator==(const RunEntry&) const = default;
};

/// Without a newline.
std::string line_of(const RunEntry& run);
/// None: the line is cut off, or of another form.
std::optional<RunEntry> parse_run(std::string_view line);

}  // namespace paceline::launcher
