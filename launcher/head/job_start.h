// What the agents of a job are told to start. Pure.
#pragma once

#include <cstdint>

#include "launcher/channel/messages.pb.h"
#include "launcher/options/host_plan.h"
#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// Everything that the job says, as if one host had all its ranks: without what only the head
/// knows (id, key, folders) or the host (name, address).
messages::Start start_of(const JobSpec& job);

/// What of it `share.host`, the index-th of the job's hosts, has to do.
messages::Start part_of(const messages::Start& job, const HostShare& share, std::uint32_t index);

}  // namespace paceline::launcher
