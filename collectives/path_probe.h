// Measures what a message between hosts costs, before the first operation: the selector's model.
#pragma once

#include <string>

#include "collectives/algo/selector.h"
#include "comm/engine.h"
#include "comm/exchange.h"
#include "comm/host_map.h"
#include "comm/transport.h"

namespace paceline {

/// Collective. The first rank of each host sends to that of the next host, which answers: 20
/// messages of 4 bytes, then 3 of 512 KiB, which take about 15 ms at 1 Gbit/s. The result is that
/// of the slowest path, the same on all ranks. The transport has carried nothing yet. An error is
/// Code::kPeerLost or Code::kTimeout with the neighbour's name, or the exchange's.
Result<PathModel> measure_between_hosts(Transport& transport, Engine& engine, const HostMap& hosts,
                                        Exchange& exchange, Deadline deadline);

/// "25.0 us and 0.800 ns a byte".
std::string to_text(const PathModel& path);

}  // namespace paceline
