// Where remote agents come in: the head's port for the time of a job's start.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include <paceline/status.h>

#include "comm/base/port_range.h"
#include "comm/base/unique_fd.h"
#include "launcher/channel/channel.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/mailbox.h"

namespace paceline::launcher {

/// Serves agents that are expected, each with a token of its own that is good once; everybody else
/// is hung up on before anything of his is parsed. A connection has kProofPatience to show a token,
/// and of those that have not only some are kept: the oldest gives way.
///
/// Belongs to the loop's thread. Must outlive the channels that it has made, and go before the
/// loop. Call start() once all children that have to be forked are forked, as it makes threads.
class AgentServer {
 public:
  struct Handlers {
    /// `address`, without its port, is the one that the agent's host has for this one.
    std::function<void(std::size_t index, const std::string& address,
                       std::unique_ptr<AgentChannel> agent)>
        arrived;
    /// The agent has the right token and is of another build; the text says so.
    std::function<void(std::size_t index, const std::string& why)> refused;
  };
  static constexpr std::chrono::seconds kProofPatience{10};
  /// Beside three for each agent that is expected.
  static constexpr std::size_t kMaxStrangers = 64;

  static Result<std::unique_ptr<AgentServer>> start(EventLoop& loop, std::string version,
                                                    Handlers handlers, PortRange ports = {});
  ~AgentServer();
  AgentServer(const AgentServer&) = delete;
  AgentServer& operator=(const AgentServer&) = delete;

  /// From now on an agent of `host` may come. Returns its token.
  Result<std::string> expect(std::size_t index, const std::string& host);
  /// It may not come any more.
  void forget(std::size_t index);
  /// Nobody may come any more.
  void stop_listening();

  const std::string& certificate() const { return certificate_; }
  int port() const { return port_; }

 private:
  class Gate;
  struct Unproven {
    UniqueFd connection;  // beside the one that gRPC has, to hang up
    std::string peer;
    EventLoop::TimerId timer;
  };

  AgentServer(EventLoop& loop, Handlers handlers) : loop_(loop), handlers_(std::move(handlers)) {}
  Status listen(PortRange ports);
  void accept();
  void settle(const std::string& peer);
  void hang_up(std::list<Unproven>::iterator stranger);

  EventLoop& loop_;
  const Handlers handlers_;
  std::unique_ptr<Mailbox> mailbox_;
  std::string certificate_;
  std::shared_ptr<Gate> gate_;  // owners: this, and gRPC's threads while the server stands
  std::unique_ptr<CallServer> calls_;
  UniqueFd listener_;
  std::optional<EventLoop::TimerId> accept_again_;
  int port_ = 0;
  std::list<Unproven> unproven_;  // the oldest first
};

}  // namespace paceline::launcher
