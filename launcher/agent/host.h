// What an agent asks its host.
#pragma once

#include <string>

#include <paceline/status.h>

namespace paceline::launcher {

/// The kernel's host name up to the first dot.
std::string host_name();

/// A TCP port on the loopback address that nobody used a moment ago.
Result<int> free_port();

}  // namespace paceline::launcher
