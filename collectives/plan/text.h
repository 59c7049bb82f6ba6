// Steps in words, for errors.
#pragma once

#include <string>
#include <string_view>

#include <paceline/status.h>

#include "collectives/plan/plan.h"

namespace paceline {

/// "recv 40 from rank 2 into scratch[0]"
std::string describe(const Plan& plan, const Step& step);

/// The error of a plan that is wrong: names the rank, the step's number and words, and `what`.
Status defect(const Plan& plan, StepId step, std::string_view what);
/// As above, for a whole plan.
Status defect(const Plan& plan, std::string_view what);

}  // namespace paceline
