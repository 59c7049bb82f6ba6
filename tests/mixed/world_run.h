// Runs a world of real processes by its script, and judges how each lane of each rank has ended.
#pragma once

#include <cstdint>
#include <string>

#include "tests/mixed/world_script.h"

namespace paceline::testing::mixed {

struct WorldOutcome {
  std::string wrong;  ///< a line for each thing; empty: all as promised
  std::uint64_t operations = 0;
  std::int64_t longest_ms = 0;  ///< from an ending until a lane of another rank knew it
};

/// `paceline run` starts this program with this word, then the seed, the number of acts and the
/// name of a file, for which the program calls run_launched_rank().
inline constexpr const char* kRankWord = "--rank-of";
[[noreturn]] void run_launched_rank(const WorldScript& script, const char* board);

/// Leaves no process behind. Call it in a process without threads and children.
WorldOutcome run_world(const WorldScript& script);

}  // namespace paceline::testing::mixed
