// Which hosts may have servers, and what they carry for ranks that lie so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/placement/links/host_links.h"
#include "topology/placement/model/job_shape.h"
#include "topology/placement/servers/server_split.h"

namespace paceline::topology {

class ServerRules {
 public:
  /// The references outlive it.
  ServerRules(const Cluster& cluster, const JobShape& job, const HostLinks& links);

  /// What no placement can mend: names that no host has; too few hosts for servers, if ranks need
  /// at least so many.
  Status check(int hosts_with_ranks) const;
  /// How many hosts must have no ranks.
  int spare_hosts() const;

  bool is_alike(int a, int b) const {
    return is_named_[static_cast<std::size_t>(a)] == is_named_[static_cast<std::size_t>(b)];
  }

  /// By the host of each rank. Nothing: too few hosts have no ranks.
  std::optional<ServerSplit> split(const std::vector<int>& host_of) const;
  /// What that takes, by cost.h but for the NICs of ranks; infinitely long where it cannot be.
  double cost_us(const std::vector<int>& host_of) const;
  /// How many servers each host gets: each with a share one, then those with the largest shares.
  std::vector<int> servers_by_host(const ServerSplit& split) const;

 private:
  using UsPerMb = double (HostLinks::*)(int host, Direction direction) const;

  double slower(UsPerMb of, int host) const;

  const Cluster& cluster_;
  const JobShape& job_;
  const HostLinks& links_;
  std::vector<bool> is_named_;  // by host; with ServersOn::kHosts
  std::vector<std::string> unknown_;
};

}  // namespace paceline::topology
