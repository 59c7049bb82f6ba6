// Measures how the time of training steps divides into compute, communication and other work.
//
// Example:
//   paceline::StepAccount account;
//   for (int step = 0; step < 100; ++step) {
//     account.enter(paceline::Part::kCompute);
//     compute_gradients();
//     account.enter(paceline::Part::kCommunication);
//     world.all_reduce(std::span(gradients)).value();
//     account.end_step();
//   }
//   std::cout << account.summary().to_string() << '\n';
//
// From the first enter() to the last end_step(), each moment counts for exactly one part. So the
// parts sum to wall time. Time between end_step() and the next enter() counts as `kOther`.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace paceline {

class Clock;

enum class Part : std::uint8_t { kCompute, kCommunication, kOther };
inline constexpr std::size_t kParts = 3;

std::string_view name(Part part);

struct StepSummary {
  std::uint64_t steps = 0;
  std::chrono::nanoseconds wall{0};                      ///< first enter() to last end_step()
  std::array<std::chrono::nanoseconds, kParts> parts{};  ///< indexed by Part

  std::chrono::nanoseconds sum() const;
  /// Compute time divided by step time, 0 to 1: an estimate of scaling efficiency that assumes the
  /// same compute time per step in a run with one rank.
  double scaling_efficiency_estimate() const;
  /// Two lines to print: milliseconds per step for each part, and the estimated efficiency.
  std::string to_string() const;
};

/// A value. Not thread-safe: one thread at a time calls its members.
class StepAccount {
 public:
  StepAccount();                             ///< reads the system's monotonic clock
  explicit StepAccount(const Clock& clock);  ///< borrows the clock, which must outlive this

  /// Counts the time from now on for `part`. The first call starts the account.
  void enter(Part part);
  /// Ends a step. Time from now on counts for Part::kOther.
  void end_step();

  StepSummary summary() const { return summary_; }

 private:
  void charge();

  const Clock* clock_;
  Part part_ = Part::kOther;
  bool started_ = false;
  std::chrono::nanoseconds begin_{0};
  std::chrono::nanoseconds last_{0};
  StepSummary summary_;
};

}  // namespace paceline
