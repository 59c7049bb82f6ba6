// What an agent asks its host.
#pragma once

#include <string>

#include <paceline/status.h>

#include "comm/base/port_range.h"

namespace paceline::launcher {

/// The kernel's host name up to the first dot.
std::string host_name();

/// True if the text is an IP address of this host: of an interface, or of loopback.
bool is_own_address(const std::string& text);

/// A TCP port on this host's `address` that nobody used a moment ago: the last free one of `ports`,
/// because listeners take the first ones.
Result<int> free_port(const std::string& address, PortRange ports = {});

/// This host's own address on the way to another; both numeric. Sends nothing.
Result<std::string> address_towards(const std::string& other);

}  // namespace paceline::launcher
