// The style sheet of a report, for light and dark displays.
#pragma once

#include <string_view>

namespace paceline::launcher {

/// CSS. The classes of parts have the colours of the charts.
std::string_view report_style();

}  // namespace paceline::launcher
