// Work that keeps a core busy and touches no memory, for who replays computing: so many rounds take
// as long as they did when they were calibrated, unless somebody else has the core.
#pragma once

#include <cstdint>

namespace paceline::probe {

/// Each round waits for the one before. What it returns has to be used.
inline std::uint64_t burn_rounds(std::uint64_t rounds) {
  std::uint64_t value = 1;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(value));  // else the compiler works many rounds into one
  }
  return value;
}

}  // namespace paceline::probe
