// What `paceline status` shows. Pure.
#pragma once

#include <string>

#include "launcher/proto/job_v1.pb.h"

namespace paceline::launcher {

/// A line about the job, a table of its hosts, why its ranks wait, a table of its ranks, and
/// stacks.
std::string status_text(const job::v1::Snapshot& snapshot);

}  // namespace paceline::launcher
