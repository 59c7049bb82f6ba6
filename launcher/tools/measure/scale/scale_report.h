// What `paceline scale` shows. Pure.
#pragma once

#include <string>

#include "launcher/tools/measure/scale/scaling.h"

namespace paceline::launcher {

/// A table with a line for each size, and the forecast.
std::string scale_table(const ScalingResult& result);
/// One JSON object.
std::string scale_json(const ScalingResult& result, const std::string& command);
/// A whole SVG file: efficiency by ranks, and the parts of a step at each size.
std::string scale_plot(const ScalingResult& result, const std::string& command);

}  // namespace paceline::launcher
