// The rendezvous store: a small map of keys to values where the ranks of a job find each other.
// Served by the head's agent, or by rank 0 where there is no launcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <paceline/status.h>

#include "comm/base/port_range.h"
#include "comm/base/unique_fd.h"
#include "comm/job_key.h"
#include "comm/socket.h"

namespace paceline {

class Log;

struct StoreServerOptions {
  /// Gets a line for peers that are refused. Without it they are only counted.
  std::shared_ptr<Log> log;
  /// Answers keys that begin with "live/", which are never stored: called on the server's thread,
  /// at once for each request, until the server is destroyed. Without it, or where it knows no
  /// answer, the value is empty.
  std::function<std::optional<std::string>(std::string_view key)> live;
  /// If the address has port 0, the port is chosen from these.
  PortRange ports{};
};

/// Serves from a thread of its own until it is destroyed. Bounds: connections, entries, bytes of
/// all values, requests that wait; a client that goes over one is refused with its name. A flood of
/// unauthenticated connections delays a client by a second or two (comm/unauthenticated_book.h).
class StoreServer {
 public:
  /// All ranks of a job may connect at once.
  static constexpr std::size_t kMaxUnauthenticated = 256;

  /// On an abstract Unix socket (it leaves no file): `name` begins with '@'. Clients of other
  /// users than this one and root are refused (SO_PEERCRED).
  static Result<std::unique_ptr<StoreServer>> serve_unix(std::string_view name,
                                                         StoreServerOptions options = {});
  /// On a TCP address, to clients that prove the key.
  static Result<std::unique_ptr<StoreServer>> serve_tcp(const SocketAddress& address,
                                                        std::unique_ptr<JobKey> key,
                                                        StoreServerOptions options = {});
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  /// Where it listens; the port is known here also when 0 was asked for.
  const SocketAddress& address() const;
  /// Ends all waits for keys that this rank would have set: StoreBook::rank_ended(). Any thread.
  void rank_ended(int rank, std::string how);
  /// Connections that were refused so far. Any thread.
  std::uint64_t refused() const;

 private:
  class Loop;
  static Result<std::unique_ptr<StoreServer>> serve(const SocketAddress& address,
                                                    std::unique_ptr<JobKey> key,
                                                    StoreServerOptions options);
  explicit StoreServer(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace paceline
