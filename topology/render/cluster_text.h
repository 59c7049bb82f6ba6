// A cluster as text.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "topology/cluster/cluster.h"

namespace paceline::topology {

/// A description that read_cluster() reads back: machines inline, as machine1, machine2 and so on;
/// hosts that count up and are alike in one line. `slots` by host, or none of them.
std::string cluster_json_text(const Cluster& cluster,
                              std::span<const std::optional<int>> slots = {});

}  // namespace paceline::topology
