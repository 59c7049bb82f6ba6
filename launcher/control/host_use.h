// The use of hosts, GPUs and ranks as clients of the control service see it. Pure.
#pragma once

#include "launcher/proto/job_v1.pb.h"
#include "telemetry/job/host_account.h"

namespace paceline::launcher {

/// Adds what is known.
void add_use(const HostReading& reading, job::v1::Host& host);
/// Adds the pressure on the control group of a rank, and its bytes on disks.
void add_use(const HostFigures& figures, job::v1::Work& work);

}  // namespace paceline::launcher
