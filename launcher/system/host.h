// What an agent asks its host.
#pragma once

#include <string>

#include <paceline/status.h>

namespace paceline::launcher {

/// The kernel's host name up to the first dot.
std::string host_name();

/// A TCP port on this host's `address` that nobody used a moment ago.
Result<int> free_port(const std::string& address);

/// This host's own address on the way to another; both numeric. Sends nothing.
Result<std::string> address_towards(const std::string& other);

}  // namespace paceline::launcher
