// What an agent asks its host.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "comm/base/port_range.h"
#include "comm/host_interfaces.h"

namespace paceline::launcher {

/// The kernel's host name up to the first dot.
std::string host_name();

/// The IP addresses of this host. The kernel is asked once, for the first text that may be one.
class OwnAddresses {
 public:
  /// True if the text is an address of an interface, or of loopback.
  bool has(std::string_view text);

 private:
  std::optional<std::vector<HostInterface>> interfaces_;
};

/// A TCP port on this host's `address` that nobody used a moment ago: the last free one of `ports`,
/// because listeners take the first ones.
Result<int> free_port(const std::string& address, PortRange ports = {});

/// This host's own address on the way to another; both numeric. Sends nothing.
Result<std::string> address_towards(const std::string& other);

}  // namespace paceline::launcher
