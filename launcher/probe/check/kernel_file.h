// Files of /proc and /sys.
#pragma once

#include <string>

namespace paceline::probe {

/// All that is in it; empty where it cannot be read, which some of them refuse only when they are.
std::string read_kernel_file(const std::string& path);

}  // namespace paceline::probe
