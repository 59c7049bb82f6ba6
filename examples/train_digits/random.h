// Seeded random numbers: equal on every rank, machine and standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace digits {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). A value: a copy gives the same numbers.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Makes an independent generator: numbers drawn from one do not change those of the other.
  Random fork() { return Random(next()); }

  /// Uniform in [-bound, bound).
  float symmetric(float bound) {
    return bound * (static_cast<float>(next() >> 40) * 0x1.0p-23f - 1.0f);
  }

  /// Shuffles `items` (Fisher and Yates).
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[next() % left]);
    }
  }

 private:
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
  }

  std::uint64_t state_;
};

}  // namespace digits
