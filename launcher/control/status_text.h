// What `paceline status` shows. Pure.
#pragma once

#include <string>

#include "launcher/proto/job_v1.pb.h"

namespace paceline::launcher {

/// A line about the job, a table of its hosts and one of its ranks.
std::string status_text(const job::v1::Snapshot& snapshot);

}  // namespace paceline::launcher
