// Which machine this is, as far as the speed of its CPUs and caches goes.
#pragma once

#include <string>

namespace paceline {

/// 16 hexadecimal digits of the CPUs' model and number and of their caches, by /proc/cpuinfo and
/// sysfs below `root`: the same on machines that are built alike, and on each after a restart. What
/// cannot be read does not count.
std::string machine_fingerprint(const std::string& root = "");

}  // namespace paceline
