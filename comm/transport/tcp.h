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
// BACKLOG: StreamInbox::kBacklogBytes of payload per peer.
#pragma once

#include <memory>

#include "comm/transport.h"
#include "comm/transport/tcp_port.h"

namespace paceline {

/// Code::kInvalidArgument: the port has a group of this name and epoch.
Result<std::unique_ptr<Transport>> make_tcp_transport(std::shared_ptr<TcpPort> port,
                                                      const Group& group);

}  // namespace paceline
