// Hosts that are alike: what is found out of one holds for the others.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <paceline/status.h>

#include "topology/cluster/cluster.h"
#include "topology/placement/host/seats.h"
#include "topology/placement/links/host_links.h"
#include "topology/placement/links/machine_paths.h"
#include "topology/placement/model/job_shape.h"

namespace paceline::topology {

/// What is known of each host by itself, asked for once for all that are alike: the paths of its
/// machine, which GPU has which NIC, the seats of so many ranks.
class HostKinds {
 public:
  /// The references outlive it.
  HostKinds(const Cluster& cluster, const JobShape& job, const HostLinks& links);

  /// The same for hosts with the same machine, CPUs and rates of NICs.
  int kind(int host) const { return kinds_[static_cast<std::size_t>(host)]; }
  /// GPUs that ranks use.
  int gpus(int host) const;
  /// Cores that ranks may use; 0: no CPU is known.
  int cores(int host);
  MachinePaths& paths(int host);

  /// By the GPUs' place in `gpus`, which ascend: the NIC of each; none: the host has none.
  const std::vector<int>& nics_of_gpus(int host, const std::vector<int>& gpus);
  /// Of ranks on these GPUs, or of `ranks` without any where there are none. On a machine whose
  /// CPUs nobody has told they are bound to none.
  Result<std::vector<Seat>> seats(int host, const std::vector<int>& gpus, int ranks, bool crosses);

  const Cluster& cluster() const { return cluster_; }
  const HostLinks& links() const { return links_; }
  const JobShape& job() const { return job_; }

 private:
  int machine_number(int host) const {
    return cluster_.hosts[static_cast<std::size_t>(host)].machine;
  }

  const Cluster& cluster_;
  const JobShape& job_;
  const HostLinks& links_;
  std::vector<MachinePaths> paths_;                                    // by machine
  std::vector<int> kinds_;                                             // by host
  std::map<int, int> cores_;                                           // by kind
  std::map<std::pair<int, std::vector<int>>, std::vector<int>> nics_;  // by machine and GPUs
  std::map<std::tuple<int, std::vector<int>, int, bool>, std::vector<Seat>> seats_;  // by kind
};

}  // namespace paceline::topology
