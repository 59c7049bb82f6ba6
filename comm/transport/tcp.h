// Transport over TCP: the lanes of a group on the connections of its processes (tcp_link.h), which
// all groups of a port share.
//
// Each connection proves the job's key before anything else is parsed (comm/handshake.h). Header
// and payload of a message leave in one system call, with TCP_NODELAY.
//
// BACKLOG: Lane::kWindowBytes per peer, and the rest of one message that fits into
// StreamInbox::kBacklogBytes.
// FRAMING: bytes beside payloads are kHeaderBytes a message, kFrameHeaderBytes for each piece of
// kMaxPieceBytes of it, a frame header for each Lane::kCreditBytes that come, and two for a group's
// first and last use of a connection.
#pragma once

#include <memory>
#include <vector>

#include "comm/transport.h"
#include "comm/transport/tcp_port.h"

namespace paceline {

/// The place of a group in the port's world.
struct TcpPlace {
  /// By rank: the process that it is in the port's world; kElsewhere: it is not reached by TCP;
  /// empty: that of its rank.
  std::vector<int> processes{};
  static constexpr int kElsewhere = -1;

  int of(int rank) const {
    return processes.empty() ? rank : processes[static_cast<std::size_t>(rank)];
  }
};

/// Code::kInvalidArgument: the port has a group of this name and epoch.
Result<std::unique_ptr<Transport>> make_tcp_transport(std::shared_ptr<TcpPort> port,
                                                      const Group& group, const TcpPlace& place);

}  // namespace paceline
