// The rendezvous store: a small map of keys to values where the ranks of a job find each other.
// Served by the head's agent, or by rank 0 where there is no launcher.
#pragma once

#include <memory>
#include <string_view>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"
#include "comm/job_key.h"
#include "comm/socket.h"

namespace paceline {

/// Serves from a thread of its own until it is destroyed. Bounds: connections, entries, bytes of
/// all values, requests that wait; a client that goes over one is refused with its name.
class StoreServer {
 public:
  /// On an abstract Unix socket (it leaves no file): `name` begins with '@'. Clients of other
  /// users than this one and root are refused (SO_PEERCRED).
  static Result<std::unique_ptr<StoreServer>> serve_unix(std::string_view name);
  /// On a TCP address, to clients that prove the key.
  static Result<std::unique_ptr<StoreServer>> serve_tcp(const SocketAddress& address,
                                                        std::unique_ptr<JobKey> key);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  /// Where it listens; the port is known here also when 0 was asked for.
  const SocketAddress& address() const;

 private:
  class Loop;
  static Result<std::unique_ptr<StoreServer>> serve(const SocketAddress& address,
                                                    std::unique_ptr<JobKey> key);
  explicit StoreServer(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace paceline
