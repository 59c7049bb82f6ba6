// Messages of paceline itself.
#pragma once

#include <string>

namespace paceline::launcher {

/// Writes `paceline: TEXT` to standard error. Returns the exit code of a launcher that could not do
/// its work.
int complain(const std::string& text);

}  // namespace paceline::launcher
