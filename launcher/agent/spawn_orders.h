// What the agent tells its spawn helper of a Start. Pure.
#pragma once

#include "comm/base/function_ref.h"
#include "launcher/agent/rank_environment.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/system/program_file.h"

namespace paceline::launcher {

/// A variable of the agent's own environment; null: it is not set.
using Inherited = FunctionRef<const char*(const char*)>;

/// What ranks of `app` execute. `file`: its program.
messages::ToHelper program_of(const messages::Start& start, const messages::App& app,
                              const HostFacts& facts, const ProgramFile& file, Inherited inherited);

/// The rank at `local_rank`, which executes the `program`-th of the apps.
messages::ToHelper spawn_of(const messages::Start& start, const HostFacts& facts, int program,
                            int local_rank, Inherited inherited);

}  // namespace paceline::launcher
