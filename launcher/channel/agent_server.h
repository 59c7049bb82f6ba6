// Where remote agents connect: the head's port for the time of a job's start.
//
// Accepting, the limits before authentication, and the log are those of comm/acceptor.h. The
// handshake is not that of comm/handshake.h: gRPC takes over a connection, makes TLS of it inside,
// and its threads call back with the token. So this class hands each connection over at once and
// keeps a duplicate of the descriptor: to close the connection, and to notice that it has ended.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <paceline/status.h>

#include "comm/acceptor.h"
#include "comm/base/port_range.h"
#include "launcher/channel/channel.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/loop_driver.h"
#include "launcher/system/mailbox.h"

namespace paceline::launcher {

/// Serves agents that are expected, each with a token of its own that is good once. Any other
/// connection is closed before a message of it is parsed.
///
/// Belongs to the loop's thread. Must outlive the channels that it has made, and go before the
/// loop. Call start() once all children that have to be forked are forked, as it makes threads.
class AgentServer final : private Acceptor::Owner {
 public:
  struct Handlers {
    /// `address`, without its port, is the one that the agent's host has for this one.
    std::function<void(std::size_t index, const std::string& address,
                       std::unique_ptr<AgentChannel> agent)>
        arrived;
    /// The agent has the right token and is of another build; the text says so.
    std::function<void(std::size_t index, const std::string& why)> refused;
  };
  /// Beside three for each agent that is expected: an agent tries several addresses.
  static constexpr std::size_t kMaxUnauthenticated = 64;

  struct Options {
    std::string version;
    PortRange ports{};
    std::shared_ptr<Log> log;  ///< names refused peers; may be null
  };

  static Result<std::unique_ptr<AgentServer>> start(EventLoop& loop, Options options,
                                                    Handlers handlers);
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
  AgentServer(EventLoop& loop, Handlers handlers) : loop_(loop), handlers_(std::move(handlers)) {}
  Status listen(const Options& options);
  void accepted(Acceptor::Id id) override;
  void on_ready(Acceptor::Id id) override;
  void closed(Acceptor::Id id) override { unauthenticated_.erase(id); }
  void authenticated(const std::string& peer);

  EventLoop& loop_;
  const Handlers handlers_;
  std::unique_ptr<Mailbox> mailbox_;
  std::string certificate_;
  std::shared_ptr<Gate> gate_;  // owners: this, and gRPC's threads while the server stands
  std::unique_ptr<CallServer> calls_;
  int port_ = 0;
  std::map<Acceptor::Id, std::string> unauthenticated_;  // as plain_peer() writes them
  std::unique_ptr<Acceptor> acceptor_;
  std::optional<LoopDriver> driver_;
};

}  // namespace paceline::launcher
