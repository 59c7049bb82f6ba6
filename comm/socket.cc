#include "comm/socket.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include "comm/base/descriptors.h"
#include "comm/base/ip_address.h"
#include "comm/base/system_error.h"
#include "comm/base/text.h"

namespace paceline {
namespace {

constexpr int kBacklog = 1024;

// A lack of descriptors does not end by waiting for a peer.
Status system_error(const std::string& what, int error = errno) {
  const std::string text = what + ": " + error_text(error);
  return lacks_descriptors(error) ? Status(Code::kExhausted, Scope::kProcess, text)
                                  : Status(Code::kUnavailable, Scope::kPeer, text);
}

Status malformed(std::string_view text) {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                std::string("'").append(text) +
                    "' is not an address like 127.0.0.1:4000, [::1]:4000, "
                    "unix:/path or unix:@name");
}

Result<UniqueFd> open_socket(const SocketAddress& address) {
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return system_error("socket");
  return fd;
}

// 0, or why `fd` cannot listen.
int listen_error(int fd, const SocketAddress& address) {
  const int on = 1, off = 0;
  if (!address.is_unix()) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const bool listens =
      ::bind(fd, address.data(), address.size()) == 0 && ::listen(fd, kBacklog) == 0;
  return listens ? 0 : errno;
}

Status all_are_in_use(const SocketAddress& address, PortRange ports) {
  return Status(Code::kExhausted, Scope::kProcess,
                "cannot listen on " + without_port(address.to_string()) +
                    ": all ports of PACELINE_PORT_RANGE=" + ports.to_string() +
                    " are in use; set a larger range");
}

void disable_delay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Result<SocketAddress> SocketAddress::parse(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix)) return parse_unix(text.substr(kUnix.size()));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return malformed(text);
  std::string host(text.substr(0, colon));
  const auto port = parse_number<in_port_t>(text.substr(colon + 1));
  if (!port) return malformed(text);
  SocketAddress address;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    auto* in6 = reinterpret_cast<sockaddr_in6*>(&address.storage_);
    host = host.substr(1, host.size() - 2);
    *in6 = {.sin6_family = AF_INET6, .sin6_port = htons(*port)};
    address.size_ = sizeof *in6;
    if (::inet_pton(AF_INET6, host.c_str(), &in6->sin6_addr) != 1) return malformed(text);
    return address;
  }
  auto* in = reinterpret_cast<sockaddr_in*>(&address.storage_);
  *in = {.sin_family = AF_INET, .sin_port = htons(*port)};
  address.size_ = sizeof *in;
  if (::inet_pton(AF_INET, host.c_str(), &in->sin_addr) != 1) return malformed(text);
  return address;
}

Result<SocketAddress> SocketAddress::parse_unix(std::string_view path) {
  SocketAddress address;
  auto* un = reinterpret_cast<sockaddr_un*>(&address.storage_);
  if (path.empty() || path.size() >= sizeof un->sun_path) return malformed(path);
  un->sun_family = AF_UNIX;
  std::memcpy(un->sun_path, path.data(), path.size());
  address.size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (path.front() == '@') {
    un->sun_path[0] = '\0';
  } else {
    ++address.size_;  // the terminating zero belongs to a path
  }
  return address;
}

Result<SocketAddress> SocketAddress::resolve(const std::string& host, int port) {
  const addrinfo hints{
      .ai_flags = AI_NUMERICSERV, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return Status(Code::kUnavailable, Scope::kPeer,
                  "cannot resolve host '" + host + "': " + ::gai_strerror(error));
  }
  SocketAddress address;
  std::memcpy(&address.storage_, found->ai_addr, found->ai_addrlen);
  address.size_ = found->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

Result<SocketAddress> SocketAddress::of_local_end(int fd) {
  SocketAddress address;
  address.size_ = sizeof address.storage_;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage_), &address.size_) != 0) {
    return system_error("getsockname");
  }
  return address;
}

Result<SocketAddress> SocketAddress::of_remote_end(int fd) {
  SocketAddress address;
  address.size_ = sizeof address.storage_;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address.storage_), &address.size_) != 0) {
    return system_error("getpeername");
  }
  return address;
}

int SocketAddress::port() const {
  if (storage_.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
  if (storage_.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
  return 0;
}

bool SocketAddress::is_loopback() const {
  const auto address = IpAddress::of(data());
  return address && address->is_loopback();
}

SocketAddress SocketAddress::at_port(int port) const {
  SocketAddress other = *this;
  const in_port_t number = htons(static_cast<in_port_t>(port));
  if (storage_.ss_family == AF_INET)
    reinterpret_cast<sockaddr_in*>(&other.storage_)->sin_port = number;
  if (storage_.ss_family == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(&other.storage_)->sin6_port = number;
  return other;
}

std::string SocketAddress::to_string() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (storage_.ss_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&storage_);
    ::inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
    return with_port(text, port());
  }
  if (storage_.ss_family == AF_INET6) {
    const auto* in6 = reinterpret_cast<const sockaddr_in6*>(&storage_);
    ::inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
    return with_port(text, port());
  }
  const auto* un = reinterpret_cast<const sockaddr_un*>(&storage_);
  if (size_ <= offsetof(sockaddr_un, sun_path)) return "unix:";
  const std::size_t length = size_ - offsetof(sockaddr_un, sun_path);
  if (un->sun_path[0] == '\0') return "unix:@" + std::string(un->sun_path + 1, length - 1);
  return "unix:" + std::string(un->sun_path, ::strnlen(un->sun_path, length));
}

std::string with_port(const std::string& host, int port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  return std::string(is_v6 ? "[" : "")
      .append(host)
      .append(is_v6 ? "]:" : ":")
      .append(std::to_string(port));
}

std::string without_port(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

Result<UniqueFd> listen_on(const SocketAddress& address, PortRange ports) {
  const bool has_choice = ports.is_limited() && !address.is_unix() && address.port() == 0;
  if (!has_choice) ports = {.first = address.port(), .last = address.port()};
  for (int port = ports.first; port <= ports.last; ++port) {
    Result<UniqueFd> fd = open_socket(address);
    if (!fd.ok()) return fd;
    const SocketAddress wanted = has_choice ? address.at_port(port) : address;
    const int error = listen_error(fd->get(), wanted);
    if (error == 0) return fd;
    if (error != EADDRINUSE || !has_choice)
      return system_error("cannot listen on " + wanted.to_string(), error);
  }
  return all_are_in_use(address, ports);
}

Result<UniqueFd> listen_on_all(PortRange ports) {
  Result<UniqueFd> all = listen_on(SocketAddress::parse("[::]:0").value(), ports);
  const bool has_ipv6 = all.ok() || all.status().code() == Code::kExhausted;
  return has_ipv6 ? std::move(all) : listen_on(SocketAddress::parse("0.0.0.0:0").value(), ports);
}

Result<UniqueFd> start_connect(const SocketAddress& address) {
  Result<UniqueFd> fd = open_socket(address);
  if (!fd.ok()) return fd;
  if (!address.is_unix()) disable_delay(fd->get());
  if (::connect(fd->get(), address.data(), address.size()) != 0 && errno != EINPROGRESS) {
    if (errno == ENETUNREACH && address.is_loopback())
      return Status(Code::kDenied, Scope::kProcess,
                    "cannot connect to " + address.to_string() +
                        ": the loopback interface is down; set it up with `ip link set lo up`");
    return system_error("cannot connect to " + address.to_string());
  }
  return fd;
}

Status connect_error(int fd, const SocketAddress& address) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return system_error("getsockopt");
  if (error != 0) return system_error("cannot connect to " + address.to_string(), error);
  return {};
}

Result<UniqueFd> accept_from(int listener) {
  UniqueFd fd;
  do {
    fd.reset(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  } while (!fd && (errno == EINTR || errno == ECONNABORTED));
  if (!fd && errno == EAGAIN) return UniqueFd();
  if (!fd) return system_error("accept");
  disable_delay(fd.get());  // refused by Unix sockets, which need it not
  return fd;
}

void set_least_readable(int fd, std::size_t bytes) {
  const int least = static_cast<int>(std::min<std::size_t>(bytes, INT_MAX));
  ::setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

Result<unsigned> peer_user(int fd) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return system_error("SO_PEERCRED");
  }
  return credentials.uid;
}

}  // namespace paceline
