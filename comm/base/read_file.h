// Files that are read whole: those of /proc and /sys, and short ones.
#pragma once

#include <string>

namespace paceline {

/// All that is in it; empty where it cannot be read, or not to its end, as when the process that a
/// file of /proc is about goes meanwhile.
std::string read_file(const std::string& path);

}  // namespace paceline
