// Marks the steps of a training program. Paceline reports from them how the time of the job divides
// and how well it scales: `paceline run` prints it when the job ends.
//
// Example:
//   for (int step = 0; step < 100; ++step) {
//     paceline::begin_step();
//     {
//       const paceline::StepPartScope input(paceline::StepPart::kInput);
//       if (!paceline::input_is_repeated()) load_next_batch();
//     }
//     compute_gradients();
//     world.all_reduce(std::span(gradients)).value();
//     paceline::end_step(64);  // samples
//   }
//   std::cout << paceline::step_totals().to_string() << '\n';
//
// Each moment counts for exactly one part, so the parts sum to wall time. Only input and other need
// marks:
// - communication: the marking thread waits in a call of this library (exposed communication).
// - input, other: the time of a StepPartScope. Other is also the time between steps.
// - compute: the rest. Operations that overlap with it do not count as communication.
//
// A process is one rank. The first thread that makes a mark is the marking thread. Marks of other
// threads and of forked children have no effect. If a rank is a script that runs one program after
// another, the last one counts.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace paceline {

enum class StepPart : std::uint8_t { kCompute, kCommunication, kInput, kOther };
inline constexpr std::size_t kStepParts = 4;

std::string_view name(StepPart part);

/// Steps that have ended. A value.
struct StepTotals {
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;         ///< those of this rank
  double flop = 0;                   ///< floating-point operations of this rank
  std::chrono::nanoseconds wall{0};  ///< begin of the first step to the last end_step()
  std::array<std::chrono::nanoseconds, kStepParts> parts{};  ///< indexed by StepPart; sum to `wall`

  std::chrono::nanoseconds part(StepPart one) const { return parts[static_cast<std::size_t>(one)]; }
  /// Compute time divided by wall time, 0 to 1: an estimate of scaling efficiency that assumes the
  /// same compute time per step in a run with one rank.
  double scaling_efficiency_estimate() const;
  /// Two lines to print: milliseconds per step for each part, and the estimated efficiency.
  std::string to_string() const;
};

/// A step begins. Optional: without it a step begins where the last one ended, and the first
/// end_step() only begins the account. Time between end_step() and begin_step() is
/// StepPart::kOther.
void begin_step();
/// A step of this rank has ended, in which it processed `samples` with `flop` floating-point
/// operations (0: not known).
void end_step(std::uint64_t samples = 0, double flop = 0);
/// Time from now on is of this part, until the next call; kCommunication is not allowed, and counts
/// as kCompute. Returns the part before.
StepPart enter_part(StepPart part);

/// Time until its end counts for the part.
class StepPartScope {
 public:
  explicit StepPartScope(StepPart part) : before_(enter_part(part)) {}
  ~StepPartScope() { enter_part(before_); }
  StepPartScope(const StepPartScope&) = delete;
  StepPartScope& operator=(const StepPartScope&) = delete;

 private:
  StepPart before_;
};

/// True if the program must keep the batch that it has, in place of loading the next one. That is
/// so under `paceline run --ablate input` (docs/telemetry.md, Ceilings), once a step of this
/// process has ended. The run shows how fast the program would be if input took no time. Ask before
/// each batch that is loaded for a step. Any thread, also of a process that was forked after the
/// first mark.
bool input_is_repeated();

/// The steps of this process so far. Any thread.
StepTotals step_totals();

}  // namespace paceline
