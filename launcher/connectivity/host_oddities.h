// What is odd about the hosts of a job, although the job can run on them. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/connectivity/survey.h"

namespace paceline::launcher {

/// Clocks that are nearer to each other than this pass for the same.
inline constexpr Duration kSameTime = std::chrono::seconds(2);

/// A sentence for each: two names of one machine, machines of one name, clocks that are apart.
std::vector<std::string> oddities_of(std::span<const HostSurvey> hosts);

}  // namespace paceline::launcher
