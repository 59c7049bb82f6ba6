// Accepts the clients of a job's control service: on a Unix socket or on TCP.
//
// The limits before authentication and the log are those of comm/acceptor.h. On a Unix socket a
// client is authenticated by its user (SO_PEERCRED). On TCP gRPC takes the connection over at once,
// and reports the peer when a call has had the right token.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/acceptor.h"
#include "comm/socket.h"
#include "launcher/control/control_module.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/loop_driver.h"

namespace paceline::launcher {

/// Belongs to the loop's thread, and goes before the loop.
class ControlListener final : private Acceptor::Owner {
 public:
  static constexpr std::size_t kMaxClients = 32;
  static constexpr std::size_t kMaxUnauthenticated = 16;

  struct Options {
    ControlServer::Kind kind = ControlServer::Kind::kUnix;
    uid_t user = 0;            ///< who may connect to a Unix socket, beside root
    std::shared_ptr<Log> log;  ///< names refused peers; may be null
    /// Takes a connection over. An error refuses the peer.
    std::function<Status(UniqueFd connection)> accepted;
  };

  static Result<std::unique_ptr<ControlListener>> listen(EventLoop& loop,
                                                         const SocketAddress& address,
                                                         Options options);
  ~ControlListener();
  ControlListener(const ControlListener&) = delete;
  ControlListener& operator=(const ControlListener&) = delete;

  /// A peer on TCP, as gRPC names it.
  void authenticated(const std::string& peer);
  /// Where it listens.
  const SocketAddress& address() const { return address_; }

 private:
  explicit ControlListener(Options options) : options_(std::move(options)) {}
  void accepted(Acceptor::Id id) override;
  void on_ready(Acceptor::Id id) override;
  void closed(Acceptor::Id id) override { unauthenticated_.erase(id); }
  Status admit(Acceptor::Id id);
  void keep(Acceptor::Id id);
  void forget_ended();

  const Options options_;
  SocketAddress address_;
  std::map<Acceptor::Id, std::string> unauthenticated_;  // on TCP, as plain_peer() writes them
  std::vector<UniqueFd> clients_;  // duplicates of the connections, to count them
  std::unique_ptr<Acceptor> acceptor_;
  std::optional<LoopDriver> driver_;
};

}  // namespace paceline::launcher
