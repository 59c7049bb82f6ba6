// Mean figures of the steps of a run, and how sure they are: the noise between its blocks decides.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "telemetry/job/step_series.h"

namespace paceline::launcher {

enum class Quantity : std::uint8_t { kStep, kRate, kCompute, kCommunication, kInput, kOther };
inline constexpr Quantity kQuantities[] = {Quantity::kStep,    Quantity::kRate,
                                           Quantity::kCompute, Quantity::kCommunication,
                                           Quantity::kInput,   Quantity::kOther};
/// "step time", "compute"
std::string_view name(Quantity quantity);
/// A part of the step time.
inline bool is_part(Quantity quantity) { return quantity >= Quantity::kCompute; }

/// A run has fewer blocks: it says nothing about noise.
inline constexpr std::size_t kLeastBlocks = 8;

/// Seconds of a step, or samples per second.
struct StepEstimate {
  double mean = 0;
  double error = 0;    ///< standard error of the mean
  double freedom = 0;  ///< degrees of freedom of the error
  double drift = 0;    ///< the second half less the first half
};

/// At least kLeastBlocks blocks. Neighbours are correlated: they are merged into fewer batches, and
/// the correlation that is left between batches widens the error, and leaves fewer degrees of
/// freedom (method of batch means).
StepEstimate step_estimate(std::span<const StepBlock> blocks, Quantity quantity);

/// The mean alone, of any number of blocks; 0 for none.
double step_mean(std::span<const StepBlock> blocks, Quantity quantity);

/// Welch's test.
struct MeanDifference {
  double difference = 0;  ///< the second mean less the first one
  double error = 0;
  double freedom = 0;
  double chance = 1;  ///< of a difference as large if the means are equal: p, of both signs
};
MeanDifference mean_difference(const StepEstimate& first, const StepEstimate& second);

/// The chance that Student's t is this far from 0, on either side.
double student_chance(double t, double freedom);
/// The t of this chance.
double student_t(double chance, double freedom);

}  // namespace paceline::launcher
