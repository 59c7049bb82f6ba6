#include "launcher/engines/local.h"

#include <utility>

#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/agent/agent.h"

namespace paceline::launcher {

Result<StartedAgent> start_local_agent(EventLoop& loop, FunctionRef<void(bool)> last) {
  const pid_t head = ::getpid();
  PACELINE_TRY_ASSIGN(auto orphans, OrphanKeeper::start(loop.clock()));
  PACELINE_TRY_ASSIGN(auto process, ChildProcess::fork([head, last](UniqueFd socket) {
                        die_with(head);
                        run_agent(std::move(socket), last);
                        last(false);
                      }));
  if (orphans) orphans->let_clear_up(process->pid());  // the agent's group, the helper's too
  auto channel = std::make_unique<SocketChannel<messages::ToAgent, messages::FromAgent>>(
      loop, process->take_socket(), "agent");
  return StartedAgent{
      .orphans = std::move(orphans), .process = std::move(process), .channel = std::move(channel)};
}

}  // namespace paceline::launcher
