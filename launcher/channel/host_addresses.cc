#include "launcher/channel/host_addresses.h"

#include <algorithm>
#include <cstddef>

#include "comm/host_interfaces.h"
#include "comm/socket.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kMaxAddresses = 16;

}  // namespace

std::vector<std::string> addresses_of_this_host(int port) {
  std::vector<std::string> all;
  const std::vector<HostInterface> interfaces = interfaces_of_this_host();
  for (const bool loopback : {false, true}) {
    for (const HostInterface& one : interfaces)
      if (one.is_up && (one.kind == InterfaceKind::kLoopback) == loopback)
        all.push_back(with_port(one.address.to_string(), port));
    if (!all.empty()) break;
  }
  if (all.empty()) all.push_back(with_port("127.0.0.1", port));
  all.resize(std::min(all.size(), kMaxAddresses));
  return all;
}

}  // namespace paceline::launcher
