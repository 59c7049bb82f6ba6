#include "launcher/engines/local.h"

#include <utility>

#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/agent/agent.h"

namespace paceline::launcher {

Result<StartedAgent> start_local_agent(EventLoop& loop) {
  const pid_t head = ::getpid();
  PACELINE_TRY_ASSIGN(auto process, ChildProcess::fork([head](UniqueFd socket) {
                        die_with(head);
                        run_agent(std::move(socket));
                      }));
  auto channel = std::make_unique<SocketChannel<messages::ToAgent, messages::FromAgent>>(
      loop, process->take_socket(), "agent");
  return StartedAgent{.process = std::move(process), .channel = std::move(channel)};
}

}  // namespace paceline::launcher
