// Transport over TCP: a connection for each direction of a pair of ranks, made by who sends when it
// first has something to send, or to receive: so a peer that has gone is found by who waits for it.
//
// Why not one for both directions: where both windows are full, an acknowledgement bears a number
// up to a window's unit beyond what the other side will take, and some kernels (Linux 6.18) drop it
// as out of the window, on both sides, for good (TcpExtBeyondWindow). Who only reads has nothing
// outstanding, and its acknowledgements always lie within.
//
// Each connection proves the job's key before anything else is parsed (comm/handshake.h). Header
// and payload of a message leave in one system call, with TCP_NODELAY.
//
// BACKLOG: StreamInbox::kBacklogBytes of payload per peer. Connections that have not proven the
// key: see comm/transport/tcp_door.h.
#pragma once

#include <memory>

#include "comm/base/port_range.h"
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
  /// On a numeric address without a port ("127.0.0.1", "::1"). The port is the first free one
  /// of `ports`, or one that the kernel chooses.
  static Result<TcpListener> open(const std::string& host_address, PortRange ports = {});

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
  bool integrity = false;    ///< data is sealed (sealed_stream.h); the same on all ranks
};

/// Without a key the transport cannot be made: TCP is never served to strangers.
Result<std::unique_ptr<Transport>> make_tcp_transport(std::shared_ptr<PollEngine> engine,
                                                      const Group& group, TcpListener listener,
                                                      JobKey key, const TcpOptions& options = {});

}  // namespace paceline
