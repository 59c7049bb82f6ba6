// What the agents of a job are told to start. Pure, but for the two that draw randomly.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <paceline/status.h>

#include "launcher/channel/messages.pb.h"
#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// A new job's.
Result<std::string> make_job_id();
Result<std::string> make_job_key();

/// Everything that the job says, of all its ranks: without what only the head knows (id, key,
/// folders) or the host (name, address).
messages::Start start_of(const JobSpec& job);

/// Leaves in it what a host with these ranks, ascending, has to do. Once.
void give_ranks(messages::Start& part, std::span<const int> ranks);

/// Makes it the order for the start after `epoch` others. Output files of restarts have a folder of
/// their own, "restart.1".
void number_start(messages::Start& part, std::uint32_t epoch);

}  // namespace paceline::launcher
