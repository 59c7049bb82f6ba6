// Pictures of a report: SVG inside of HTML. The style sheet of the page has the colours, by the
// names of parts. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/registry/run_entry.h"

namespace paceline::launcher {

/// The shares of the time as a bar, and their names.
std::string shares_chart(const RunFigures& figures);
/// The seconds of a step that the axis of steps_chart() needs. A few much slower blocks, such as a
/// warm-up, are cut off.
double chart_top(const std::vector<StepBlock>& blocks);
/// The time of a step and its parts, by the time of the run.
std::string steps_chart(const std::vector<StepBlock>& blocks, double top_s);

}  // namespace paceline::launcher
