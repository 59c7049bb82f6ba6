// The speed of a job as clients of the control service see it (launcher/proto/job_v1.proto). Pure.
#pragma once

#include "launcher/proto/job_v1.pb.h"
#include "telemetry/job/job_account.h"

namespace paceline::launcher {

job::v1::Performance performance_of(const JobSummary& summary);
job::v1::Work work_of(const RankReading& reading);
/// Without the evidence for stragglers. What the sender has left out is 0; wrong numbers of ranks
/// are left out.
JobSummary summary_of(const job::v1::Performance& performance, int ranks);

}  // namespace paceline::launcher
