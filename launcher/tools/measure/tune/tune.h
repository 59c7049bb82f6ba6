// What `paceline tune` measures, and what follows from it. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "collectives/backend/shm/tuning.h"
#include "launcher/tools/measure/bench/bench_options.h"

namespace paceline::launcher {

struct TuneRequest {
  std::vector<int> ranks;  ///< each from 2 to kMostHostRanks; empty: those of default_ranks()
  std::string file;        ///< empty: the user's own
  int starts = 3;          ///< of the ranks, for each thing that is measured
  bool keeps = true;       ///< else only printed

  bool operator==(const TuneRequest&) const = default;
};

/// `arguments` begin after the word tune.
Result<TuneRequest> parse_tune(std::span<const std::string> arguments);
/// One screen.
std::string tune_help();
/// 2, 4, 8 and so on, up to twice as many as there are CPUs, and 8 at least.
std::vector<int> default_ranks(int cpus);

/// One limit to measure: up to where an operation goes best by one method, and not the next.
struct TuneTask {
  OperationKind kind{};
  int ranks = 2;
  shm::Limit limit{};
  shm::Method below{}, beyond{};

  bool operator==(const TuneTask&) const = default;
};

/// All that the direct shared-memory backend carries, on so many CPUs.
std::vector<TuneTask> tune_tasks(std::span<const int> ranks, int cpus);
/// What each rank contributes: 512 B to 32 KiB, what may be short; 16 to 512 KiB, what is
/// pipelined.
struct ContributedBytes {
  std::size_t least = 0, most = 0;
};
ContributedBytes contributed_bytes(const TuneTask& task);
/// What `paceline bench` would be asked: both methods in turn, over such sizes.
BenchRequest bench_of(const TuneTask& task);
/// What of an array of so many bytes the rank that has most contributes.
std::size_t contribution_bytes(const TuneTask& task, std::size_t array_bytes);

/// The method beyond the limit took `ratio` times as long.
struct MethodRatio {
  std::size_t bytes = 0;  ///< of a contribution
  double ratio = 1;
};

/// The limit by this version's own sizes.
std::size_t built_in_size(const TuneTask& task, int cpus);

/// The limit: where the two methods together cost least over all sizes, by the logarithms of the
/// ratios, none of which counts for more than twice as long: one that is off does not decide. The
/// sizes rise. Half the least one where the method below is quicker at none; `built_in` where that
/// is as good but for a tenth of one size's time.
std::size_t best_limit(std::span<const MethodRatio> ratios, std::size_t built_in);

}  // namespace paceline::launcher
