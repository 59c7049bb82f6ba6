// What can be known before a job starts: whether this host allows what it needs.
#pragma once

#include <functional>
#include <string>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// Of a job whose ranks are all on this host. An error says what to do; what the job may stumble
/// over goes to `warn`.
Status preflight(const JobSpec& job, const std::function<void(const std::string&)>& warn);

}  // namespace paceline::launcher
