// The moment at which the steps of a run became slower or faster. Pure.
#pragma once

#include <optional>
#include <span>

#include "telemetry/job/step_series.h"

namespace paceline::launcher {

struct ChangePoint {
  double at_s = 0;                   ///< seconds of steps before it
  double before_s = 0, after_s = 0;  ///< a step
  double lost_s = 0;                 ///< by the slower side
  StepPart part{};                   ///< that changed most
};

/// The largest change, if it is beyond noise and at least 5 % of the step time. Both sides have at
/// least kLeastBlocks blocks (step_estimate.h).
std::optional<ChangePoint> change_point(std::span<const StepBlock> blocks);

}  // namespace paceline::launcher
