// What `paceline check` has measured between hosts, as ways of a cluster. Pure.
#pragma once

#include <string>

#include <paceline/status.h>

#include "topology/cluster/cluster.h"

namespace paceline::launcher {

/// Adds what `text`, that `paceline check --json` has written to `file`, says of hosts of the
/// cluster, by their names: the best of the rates one way, and the best latency. An empty file is
/// none. An error says why it cannot be read, or that it knows none of the hosts.
Status add_measured_ways(topology::Cluster& cluster, const std::string& file,
                         const std::string& text);

}  // namespace paceline::launcher
