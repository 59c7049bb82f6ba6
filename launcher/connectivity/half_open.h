// Who has knocked at a port of this host and did not get the kernel's answer: packets come from
// there, and do not arrive there.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "comm/base/ip_address.h"

namespace paceline::launcher {

/// As /proc/net/tcp or tcp6 has them at this moment: connections to `port` in the state SYN_RECV.
std::vector<IpAddress> half_open_in(std::string_view table, int port);

/// Of this host, each once and at most 256. Empty where the kernel does not tell.
std::set<IpAddress> half_open_at(int port);

}  // namespace paceline::launcher
