// What ranks and servers send along measured ways, and how late their messages are.
#pragma once

#include <vector>

#include "topology/placement/links/host_links.h"

namespace paceline::topology {

/// By host.
struct ServerTraffic {
  std::vector<int> ranks;
  std::vector<int> servers;
  std::vector<double> shares;  ///< of all servers there together
  double mb = 0;               ///< of each rank's buffer
};

struct ServerWays {
  std::vector<double> mb;  ///< by place in Cluster::ways
  double latest_us = 0;    ///< of the messages between hosts; 0: there are none
};

/// Each rank sends each server its share and gets it back. Ways and hosts, not pairs of hosts.
ServerWays server_ways(const HostLinks& links, const ServerTraffic& traffic);

}  // namespace paceline::topology
