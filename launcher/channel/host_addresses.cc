#include "launcher/channel/host_addresses.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

namespace paceline::launcher {
namespace {

constexpr std::size_t kMaxAddresses = 16;

std::string numeric(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address->sa_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(address);
    ::inet_ntop(AF_INET, &in->sin_addr, text.data(), text.size());
    return text.data();
  }
  // A link's own addresses mean nothing on another host.
  const auto* in6 = reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr)) return "";
  ::inet_ntop(AF_INET6, &in6->sin6_addr, text.data(), text.size());
  return std::string("[").append(text.data()).append("]");
}

std::vector<std::string> find(int family, bool loopback) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, ::freeifaddrs);
  std::vector<std::string> found;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    const bool is_up = (entry->ifa_flags & IFF_UP) != 0;
    const bool is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family || !is_up ||
        is_loopback != loopback)
      continue;
    if (std::string text = numeric(entry->ifa_addr); !text.empty()) found.push_back(text);
  }
  return found;
}

}  // namespace

std::vector<std::string> addresses_of_this_host(int port) {
  std::vector<std::string> all;
  for (const bool loopback : {false, true}) {
    for (const int family : {AF_INET, AF_INET6}) {
      for (std::string& address : find(family, loopback)) all.push_back(std::move(address));
    }
    if (!all.empty()) break;
  }
  if (all.empty()) all.emplace_back("127.0.0.1");
  all.resize(std::min(all.size(), kMaxAddresses));
  for (std::string& address : all) address.append(":").append(std::to_string(port));
  return all;
}

}  // namespace paceline::launcher
