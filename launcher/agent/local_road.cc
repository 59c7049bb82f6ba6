// How an agent that its head has forked comes to it: over a socket pair that it has inherited.
#include <utility>

#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/agent/agent.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

class LocalRoad final : public HeadRoad {
 public:
  explicit LocalRoad(UniqueFd socket) : socket_(std::move(socket)) {}

  void leave() override { socket_.reset(); }
  Result<HeadConnection> take(EventLoop& loop) override {
    PACELINE_TRY_ASSIGN(UniqueFd standard_input, duplicate(STDIN_FILENO));
    return HeadConnection{
        .channel = std::make_unique<SocketChannel<messages::FromAgent, messages::ToAgent>>(
            loop, std::move(socket_), "head"),
        .standard_input = std::move(standard_input)};
  }

 private:
  UniqueFd socket_;
};

}  // namespace

void run_agent(UniqueFd head, FunctionRef<void(bool)> last) {
  LocalRoad road(std::move(head));
  if (const Status status = run_agent(road, last); !status.ok()) report("agent", status);
}

}  // namespace paceline::launcher
