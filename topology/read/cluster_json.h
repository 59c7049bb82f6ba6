// A description of a cluster, to make plans without access to its machines.
//
//   {"paceline_cluster": 1,
//    "machines": {"gpu8": {...what topo --format json writes...}, "old": "file-beside-this.xml"},
//    "hosts": [{"name": "node[0001-1024]", "machine": "gpu8", "slots": 8, "cpus": "0-31"}],
//    "network": {"mb_per_s": 25000, "latency_us": 5},
//    "links": [{"from": "node0001", "to": "node0002", "mb_per_s": 12500, "latency_us": 9,
//               "both_directions": true}]}
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/cluster/cluster.h"
#include "topology/read/named_text.h"

namespace paceline::topology {

struct DescribedCluster {
  Cluster cluster;
  std::vector<std::optional<int>> slots;  ///< by host, where the file says
};

/// Reads the machine of a file that the description names, relative to the description's folder.
using MachineReader = std::function<Result<HostModel>(const std::string& path)>;

/// Machines come in the order of their names, hosts in that of the file. An error names file, place
/// and reason. Nothing but machines and hosts has to be there, and a host's machine where there are
/// several.
Result<DescribedCluster> read_cluster(const NamedText& file, const MachineReader& read_machine);

}  // namespace paceline::topology
