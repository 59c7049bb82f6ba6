// Memory that the processes of a world share with their judge: what they tell each other outside of
// the library, and how their lanes have ended.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <paceline/unique_id.h>

#include "comm/base/clock.h"
#include "comm/base/function_ref.h"

namespace paceline::testing::mixed {

inline constexpr std::size_t kBoardRanks = 8, kBoardLanes = 4;

struct LaneReport {
  std::atomic<std::uint64_t> act{0};  // in which it is, for one that hangs
  std::atomic<bool> has_ended{false};
  int code = 0;              // of Status
  int culprit = -1;          // in the lane's communicator
  std::int64_t late_ms = 0;  // since the ending
  std::array<char, 600> text{};
};

struct RankReport {
  std::atomic<bool> has_ended{false};
  std::uint64_t operations = 0;
  std::array<char, 600> wrong{};  // outside of its lanes; empty: nothing
  std::array<LaneReport, kBoardLanes> lanes;
};

struct Board {
  UniqueId ids[2];  // for the interfaces of C++ and C
  std::atomic<bool> has_ids{false};
  std::atomic<int> arrived{0};  // ranks that have made their communicators
  std::atomic<std::int64_t> ended_at_ns{0};
  std::array<RankReport, kBoardRanks> ranks;
};

/// Waits for a condition outside of the library. False after 30 s.
bool await(FunctionRef<bool()> condition);

}  // namespace paceline::testing::mixed
