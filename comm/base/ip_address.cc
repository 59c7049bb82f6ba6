#include "comm/base/ip_address.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace paceline {
namespace {

constexpr std::size_t kMappedAt = 12;  // where the IPv4 address stands in ::ffff:10.0.0.1

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  const std::string terminated(text);
  IpAddress address;
  if (::inet_pton(AF_INET, terminated.c_str(), address.bytes_.data()) == 1) return address;
  address.v6_ = true;
  if (::inet_pton(AF_INET6, terminated.c_str(), address.bytes_.data()) == 1) return address;
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::of(const sockaddr* address) {
  IpAddress made;
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(address);
    std::memcpy(made.bytes_.data(), &in->sin_addr, sizeof in->sin_addr);
    return made;
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  const in6_addr& in6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  made.v6_ = !IN6_IS_ADDR_V4MAPPED(&in6);
  const std::size_t from = made.v6_ ? 0 : kMappedAt;
  std::copy(in6.s6_addr + from, in6.s6_addr + sizeof in6, made.bytes_.begin());
  return made;
}

bool IpAddress::is_loopback() const {
  if (!v6_) return bytes_[0] == 127;
  IpAddress loopback;
  loopback.v6_ = true;
  loopback.bytes_.back() = 1;
  return *this == loopback;
}

IpAddress IpAddress::network(int bits) const {
  IpAddress masked = *this;
  for (std::size_t i = 0; i < masked.bytes_.size(); ++i) {
    const int kept = std::clamp(bits - 8 * static_cast<int>(i), 0, 8);
    masked.bytes_[i] = static_cast<std::uint8_t>(masked.bytes_[i] & (0xFF00u >> kept));
  }
  return masked;
}

std::string IpAddress::to_string() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(v6_ ? AF_INET6 : AF_INET, bytes_.data(), text.data(), text.size());
  return text.data();
}

}  // namespace paceline
