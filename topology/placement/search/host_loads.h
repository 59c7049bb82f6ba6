// What a step takes as far as it is known which host each rank is on: kept up to date while ranks
// move.
#pragma once

#include <cstddef>
#include <vector>

#include "topology/placement/cost/traffic.h"
#include "topology/placement/links/host_links.h"
#include "topology/placement/links/machine_paths.h"
#include "topology/placement/search/max_tree.h"

namespace paceline::topology {

/// What no edge can do better, whatever GPUs and NICs its ranks get.
struct HostFloor {
  Hop inside;                            ///< between two ranks of the host
  double leaving_us_per_mb[2] = {0, 0};  ///< of one rank's edges to other hosts, by direction
};

/// Of one part.
struct PartTime {
  double busiest_us = 0, latest_us = 0;
};

/// Never more than cost.h says, whatever GPUs and NICs the ranks get; equal where the network
/// between hosts is the bottleneck. Ranks that are nowhere yet talk with nobody. Moving a rank
/// takes the logarithm of hosts and ways for each of its edges.
class HostLoads {
 public:
  /// `parts` and `links` outlive it. `floors` by host.
  HostLoads(const std::vector<TrafficPart>& parts, const HostLinks& links,
            const std::vector<HostFloor>& floors, int ranks);

  /// By rank; nobody was anywhere before.
  void put_all(const std::vector<int>& host_of);
  void put(int rank, int host);
  void take(int rank);
  void move(int rank, int host) {
    take(rank);
    put(rank, host);
  }

  const std::vector<int>& host_of() const { return host_of_; }
  PartTime part(std::size_t part) const;
  double cost_us() const;
  /// The sum of what each resource takes: less of it is better between equal costs.
  double burden_us() const { return burden_us_; }
  /// The hosts at the busiest and at the latest place of each part, each once.
  std::vector<int> hot_hosts() const;

 private:
  struct Part {
    MaxTree busy, late;
    std::vector<int> edges;  // of each resource
  };

  void change_edges(int rank, int by);
  /// Calls visit(resource) for each that an edge takes.
  template <class Visit>
  void for_each_resource(int from, int to, Visit visit) const;
  void refresh(Part& part, double mb, std::size_t resource);
  void add_hosts_of(std::size_t resource, std::vector<int>& hosts) const;

  // Of each part: hosts out, hosts in, edges within hosts, edges out and in by NIC, then ways, then
  // edges that nobody measured.
  std::size_t hosts() const { return static_cast<std::size_t>(links_.hosts()); }
  // Do its edges share it? Else each takes as long as one alone.
  bool is_shared(std::size_t resource) const {
    return resource < 2 * hosts() || resource >= first_way();
  }
  std::size_t first_way() const { return 5 * hosts(); }
  std::size_t unmeasured() const { return first_way() + static_cast<std::size_t>(links_.ways()); }

  const std::vector<TrafficPart>& parts_;
  const HostLinks& links_;
  std::vector<double> us_per_mb_, latency_us_;  // by resource
  std::vector<Part> loads_;                     // by part
  std::vector<int> host_of_;
  double burden_us_ = 0;
};

}  // namespace paceline::topology
