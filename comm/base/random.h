// Randomness, injected: a seeded generator that is the same everywhere, and the system's own for
// keys and nonces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <paceline/status.h>

namespace paceline {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): one word of state, any seed is good.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound); 0 when bound is 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }
  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  /// True with the given probability.
  bool chance(double probability) { return unit() < probability; }
  /// A generator of its own, so that adding a consumer does not shift the others' numbers.
  Random fork() { return Random(next()); }

 private:
  __extension__ using Wide = unsigned __int128;
  std::uint64_t state_;
};

/// Fills `bytes` with the kernel's random bytes, fit for keys and nonces.
Status fill_system_random(std::span<std::byte> bytes);

}  // namespace paceline
