// Transport over TCP: one connection per pair of ranks, made when either first needs it.
//
// Either side dials; when both dial at once, the lower rank's connection is kept: the lower rank
// answers the other's hello with "superseded", the higher rank gives up its own dial for the
// arrival. Each connection proves the job's key before anything else is parsed (comm/handshake.h).
// Header and payload of a message leave in one system call, with TCP_NODELAY.
//
// BACKLOG: StreamInbox::kBacklogBytes of payload per peer. Connections that have not proven the
// key: see comm/transport/tcp_door.h.
#pragma once

#include <memory>

#include "comm/job_key.h"
#include "comm/poll_engine.h"
#include "comm/socket.h"
#include "comm/transport.h"

namespace paceline {

class Log;

/// Where a rank accepts its peers; made before the group is known, since its address is part of
/// the group.
class TcpListener {
 public:
  /// On a numeric address without a port ("127.0.0.1", "::1"); the kernel chooses the port.
  static Result<TcpListener> open(const std::string& host_address);

  const std::string& address() const { return address_; }
  UniqueFd release() { return std::move(fd_); }

 private:
  TcpListener(UniqueFd fd, std::string address)
      : fd_(std::move(fd)), address_(std::move(address)) {}
  UniqueFd fd_;
  std::string address_;
};

struct TcpOptions {
  std::shared_ptr<Log> log;  ///< names refused strangers; may be null
};

/// Without a key the transport cannot be made: TCP is never served to strangers.
Result<std::unique_ptr<Transport>> make_tcp_transport(std::shared_ptr<PollEngine> engine,
                                                      const Group& group, TcpListener listener,
                                                      JobKey key, const TcpOptions& options = {});

}  // namespace paceline
