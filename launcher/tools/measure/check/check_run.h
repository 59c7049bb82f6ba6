// The ranks of a check: a job with one on each host, and what they measure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/check/check_options.h"

namespace paceline::launcher {

/// The hosts that the user named, each once and in that order: rank i runs on the i-th. This host
/// alone where none was named.
Result<std::vector<std::string>> hosts_to_check(const JobSpec& job);

/// How far it is: "links", 3 of 7.
using OnProgress = std::function<void(const std::string& what, int done, int all)>;

/// Runs them to their end; `folder` is where the project's programs are. If hosts fail, they are
/// among the unfit of the result, and the others run without them, or, if the measurement had
/// begun, what was measured is the result. An error where the ranks failed for another reason, or
/// were silent for too long: why was said on standard error then.
/// adopt_orphans() must have been called.
Result<probe::Measurements> measure_hosts(const CheckRequest& request,
                                          const std::vector<std::string>& hosts,
                                          const std::string& folder, const OnProgress& progress);

}  // namespace paceline::launcher
