// Sockets: addresses, listening, connecting. All descriptors are non-blocking and close-on-exec.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <sys/socket.h>

#include <paceline/status.h>

#include "comm/base/port_range.h"
#include "comm/base/unique_fd.h"

namespace paceline {

/// "127.0.0.1:4000", "[::1]:4000", "unix:/path" or "unix:@abstract-name".
class SocketAddress {
 public:
  /// Numeric addresses only, so that parsing never waits for a name server.
  static Result<SocketAddress> parse(std::string_view text);
  /// Resolves a host name; may block for as long as the system's resolver does.
  static Result<SocketAddress> resolve(const std::string& host, int port);
  /// Where a socket is bound.
  static Result<SocketAddress> of_local_end(int fd);
  /// Who is at the other end.
  static Result<SocketAddress> of_remote_end(int fd);

  std::string to_string() const;
  bool is_unix() const { return storage_.ss_family == AF_UNIX; }
  int family() const { return storage_.ss_family; }
  /// 127.0.0.0/8, also mapped to IPv6, or ::1.
  bool is_loopback() const;
  /// Of an internet address; else 0.
  int port() const;
  /// This internet address with another port.
  SocketAddress at_port(int port) const;
  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }

 private:
  static Result<SocketAddress> parse_unix(std::string_view path);
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

/// "10.0.0.1:4000", "[::1]:4000", as parse() takes them; and back.
std::string with_port(const std::string& host, int port);
std::string without_port(const std::string& address);

/// Port 0 means the first free port of `ports`, or one that the kernel chooses; of_local_end()
/// tells which.
Result<UniqueFd> listen_on(const SocketAddress& address, PortRange ports = {});
/// On all addresses of this host with one port: IPv6 and IPv4, or IPv4 if the host has no IPv6.
Result<UniqueFd> listen_on_all(PortRange ports);
/// Starts connecting; the descriptor becomes writable when that is decided, connect_error() says
/// how. Code::kDenied if the address is of the loopback interface and that is down: no later try
/// helps. Data connections get TCP_NODELAY: messages are written whole, so nothing is to be merged.
Result<UniqueFd> start_connect(const SocketAddress& address);
Status connect_error(int fd, const SocketAddress& address);
/// The next connection of a listener; no descriptor when none waits.
Result<UniqueFd> accept_from(int listener);
/// Of a TCP connection: it is reported as readable once so many bytes are there, or its end is. At
/// most half of what the kernel lets it keep (tcp_rmem). SO_RCVLOWAT of socket(7).
void set_least_readable(int fd, std::size_t bytes);
/// The user at the other end of a Unix socket (SO_PEERCRED), or an error.
Result<unsigned> peer_user(int fd);

}  // namespace paceline
