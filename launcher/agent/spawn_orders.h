// Makes the orders that an agent gives to its spawn helper for a Start. Pure.
#pragma once

#include "comm/base/function_ref.h"
#include "launcher/agent/rank_environment.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/system/program_file.h"

namespace paceline::launcher {

/// A variable of the agent's own environment; null: it is not set.
using Inherited = FunctionRef<const char*(const char*)>;

/// The order that tells the helper which program the ranks of `app` execute. `file` is that
/// program.
messages::ToHelper program_of(const messages::Start& start, const messages::App& app,
                              const HostFacts& facts, const ProgramFile& file, Inherited inherited);

/// The order to start the rank at `local_rank` with the `program`-th of the apps. What services
/// give to it is not in it.
messages::ToHelper spawn_of(const messages::Start& start, const HostFacts& facts, int program,
                            int local_rank, Inherited inherited);

}  // namespace paceline::launcher
