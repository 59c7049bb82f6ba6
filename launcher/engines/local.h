// The local engine: the agent is a forked process of this host.
#pragma once

#include <memory>

#include <paceline/status.h>

#include "comm/base/function_ref.h"
#include "launcher/channel/channel.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/orphan_keeper.h"
#include "launcher/system/process.h"

namespace paceline::launcher {

/// What an engine gives the head. The channel closes before the process is waited for: that is
/// how an agent learns that it is no longer needed. When this is destroyed, nothing is left of what
/// the agent has started, even where the agent itself was killed.
struct StartedAgent {
  std::unique_ptr<OrphanKeeper> orphans;  ///< null: the helper alone clears up after the agent
  std::unique_ptr<ChildProcess> process;
  std::unique_ptr<AgentChannel> channel;
};

/// Call before this process has a thread, and before it blocks signals. The agent dies with the
/// thread that calls. Agent and spawn helper call `last` before they end of their own accord;
/// `alone`: the parent was killed.
Result<StartedAgent> start_local_agent(EventLoop& loop, FunctionRef<void(bool alone)> last);

}  // namespace paceline::launcher
