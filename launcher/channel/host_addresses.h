// Under which addresses other hosts may reach this one.
#pragma once

#include <string>
#include <vector>

namespace paceline::launcher {

/// Numeric, each with `port`, IPv4 first, at most 16; loopback only where there is nothing else.
std::vector<std::string> addresses_of_this_host(int port);

}  // namespace paceline::launcher
