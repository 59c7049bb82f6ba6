// A snapshot of a job in Prometheus' text format 0.0.4. Names follow Prometheus' conventions: base
// units, and _total for counters. docs/telemetry.md lists them. Pure.
#pragma once

#include <string>

#include "launcher/proto/job_v1.pb.h"

namespace paceline::launcher {

std::string metrics_text(const job::v1::Snapshot& snapshot);

}  // namespace paceline::launcher
