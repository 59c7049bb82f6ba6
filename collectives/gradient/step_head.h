// What each rank tells the others when a step begins, and what they conclude from it. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <paceline/group.h>
#include <paceline/status.h>

namespace paceline {

/// Goes to all ranks in one all-gather of kWords numbers each.
struct StepHead {
  static constexpr std::size_t kWords = 4;

  std::uint64_t step = 0;         ///< how many it has taken before
  std::uint64_t micro_steps = 1;  ///< that this one sums up
  std::uint64_t plan = 0;         ///< digest of what it will send
  std::uint64_t has_joined = 0;   ///< 1: it has no more data
};
static_assert(sizeof(StepHead) == StepHead::kWords * sizeof(std::uint64_t));

/// How many ranks have data. Of those that have joined the number of micro-steps does not count.
/// An error, Code::kMismatch, names the first rank that does otherwise than the first one that has
/// data, and what.
Result<int> judge_heads(std::span<const StepHead> heads, const Group& group);

}  // namespace paceline
