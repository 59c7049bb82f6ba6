// Divides many independent items among a few processes, so that each runs single-threaded
// simulations on a core of its own and a crash in one names the item it came from.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "comm/base/function_ref.h"

namespace paceline::testing {

/// Counts that all processes add to.
using Counters = std::array<std::atomic<std::uint64_t>, 64>;

inline constexpr int kMostWorkers = 16;

struct WorkerOptions {
  int workers = 2;  ///< 1: in this process; up to kMostWorkers
  std::uint64_t items = 0;
  int most_failures = 5;  ///< after which a worker stops
};

/// Calls `item` for each of 0 … items - 1, which says whether all was well; adds to `counters`.
/// True if all was well everywhere. A worker that dies is reported on stdout, and is a failure.
/// Call it before the process has threads.
bool run_workers(const WorkerOptions& options, Counters& counters,
                 FunctionRef<bool(std::uint64_t item, Counters& counters)> item);

}  // namespace paceline::testing
