#include "launcher/system/host.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <sys/socket.h>
#include <unistd.h>

#include "comm/base/ip_address.h"
#include "comm/base/try.h"
#include "comm/base/unique_fd.h"
#include "comm/socket.h"
#include "launcher/system/system.h"

namespace paceline::launcher {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  const std::string whole(name.data());
  return whole.substr(0, whole.find('.'));
}

bool OwnAddresses::has(std::string_view text) {
  const auto address = IpAddress::parse(std::string(text));
  if (!address) return false;
  if (address->network(8) == IpAddress::parse("127.0.0.0") || address == IpAddress::parse("::1"))
    return true;
  if (!interfaces_) interfaces_ = interfaces_of_this_host();
  return std::ranges::any_of(
      *interfaces_, [&](const HostInterface& interface) { return interface.address == *address; });
}

Result<int> free_port(const std::string& address, PortRange ports) {
  PACELINE_TRY_ASSIGN(const SocketAddress any, SocketAddress::resolve(address, 0));
  for (int port = ports.last; ports.is_limited() && port >= ports.first; --port)
    if (listen_on(any.at_port(port)).ok()) return port;
  if (ports.is_limited()) {
    PACELINE_TRY_ASSIGN(const UniqueFd freed, listen_on(any, ports));
    PACELINE_TRY_ASSIGN(const SocketAddress there, SocketAddress::of_local_end(freed.get()));
    return there.port();
  }
  const UniqueFd socket(::socket(any.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::bind(socket.get(), any.data(), any.size()) != 0)
    return system_error("find a free port on " + address);
  PACELINE_TRY_ASSIGN(const SocketAddress bound, SocketAddress::of_local_end(socket.get()));
  return bound.port();
}

Result<std::string> address_towards(const std::string& other) {
  constexpr int kAnyPort = 9;  // discard, RFC 863
  PACELINE_TRY_ASSIGN(const SocketAddress there, SocketAddress::resolve(other, kAnyPort));
  const UniqueFd socket(::socket(there.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), there.data(), there.size()) != 0)
    return system_error("find a route to " + other);
  PACELINE_TRY_ASSIGN(const SocketAddress here, SocketAddress::of_local_end(socket.get()));
  return without_port(here.to_string());
}

}  // namespace paceline::launcher
