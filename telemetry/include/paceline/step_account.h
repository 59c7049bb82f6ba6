// Where a training step's time goes.
//
//   paceline::StepAccount account;
//   for (...) {
//     account.enter(paceline::Part::kCompute);        forward(); backward();
//     account.enter(paceline::Part::kCommunication);  world.all_reduce(...).value();
//     account.end_step();
//   }
//   std::cout << account.summary().to_string() << '\n';
//
// At every moment between the first enter() and the last end_step() exactly one part is charged,
// so the parts sum to wall time; what nobody claimed is `other`.
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
  /// Compute over step time: what scaling efficiency would be if the compute of one rank alone
  /// took as long as it did here. An estimate: no one-rank run was measured.
  double scaling_efficiency_estimate() const;
  /// Two lines for a person: milliseconds per step by part, and the estimate, called one.
  std::string to_string() const;
};

/// One thread at a time.
class StepAccount {
 public:
  StepAccount();                             ///< by the system's monotonic clock
  explicit StepAccount(const Clock& clock);  ///< borrowed; must outlive this

  /// Charges from now on to `part`. The first call starts the account.
  void enter(Part part);
  /// Counts a step and charges what follows to Part::kOther.
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
