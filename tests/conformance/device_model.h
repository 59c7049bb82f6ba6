// The gradients and steps of device_gradients.cc.
#pragma once

#include <cstddef>
#include <vector>

#include <paceline/gradient_pipeline.h>

namespace paceline::testing {

// The gradients have 0 elements, 1, two uses, or more elements than a bucket.
inline std::vector<Parameter> model() {
  return {{.name = "embedding", .count = 5003},
          {.name = "bias", .count = 1},
          {.name = "nothing", .count = 0},
          {.name = "tied", .count = 777, .uses = 2},
          {.name = "wide", .count = 333, .type = DataType::kFloat64},
          {.name = "frozen", .count = 50},
          {.name = "head", .count = 1500}};
}
inline constexpr std::size_t kFrozen = 5;
inline constexpr std::size_t kOverflowing = 4;
inline constexpr int kOverflowStep = 2;

// Small whole numbers: their sums are exact.
inline double value(int rank, int step, int micro, int use, std::size_t parameter,
                    std::size_t element) {
  const std::size_t mixed = 31 * parameter + 7 * element + static_cast<std::size_t>(rank) * 3 +
                            static_cast<std::size_t>(step * 5 + micro * 11 + use * 13);
  return static_cast<double>(mixed % 61) - 30;
}

inline int micro_steps(int step) { return step % 2 == 0 ? 1 : 2; }

// How often this rank calls ready() in the micro-step.
inline int uses(int rank, int ranks, int step, int micro, const Parameter& parameter) {
  if (parameter.name == "frozen") return 0;
  const bool is_turn = step % ranks == rank;
  if (parameter.name == "head" && is_turn) return 0;                    // unused
  if (parameter.name == "embedding" && is_turn && micro > 0) return 0;  // by the first one only
  if (parameter.name == "tied" && is_turn) return 1;                    // one of two
  return parameter.uses;
}

}  // namespace paceline::testing
