// The local engine: the agent is a forked process of this host.
#pragma once

#include <memory>

#include <paceline/status.h>

#include "launcher/channel/channel.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/process.h"

namespace paceline::launcher {

/// What an engine gives the head. The channel closes before the process is waited for: that is
/// how an agent learns that it is no longer needed.
struct StartedAgent {
  std::unique_ptr<ChildProcess> process;
  std::unique_ptr<AgentChannel> channel;
};

/// Call before this process has a thread, and before it blocks signals. The agent dies with the
/// thread that calls.
Result<StartedAgent> start_local_agent(EventLoop& loop);

}  // namespace paceline::launcher
