// What joins hosts: each host's own rates, its NICs', and those of measured ways. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "topology/cluster/cluster.h"

namespace paceline::topology {

enum class Direction : std::uint8_t { kOut, kIn };

/// A host's own rate, each way, is what Cluster::network states; else the largest of the ways that
/// were measured from (to) it; else the sum of its usable NICs; else 10 Gbit/s. A NIC's is its own,
/// bounded by its PCIe link, or its share of the host's where that is more: who states or measures
/// a host's rate knows better than who reads a NIC's.
class HostLinks {
 public:
  /// `cluster` outlives it.
  explicit HostLinks(const Cluster& cluster);

  /// The host's rate follows from NICs, and no source states the rate of one of them.
  bool is_rate_assumed(int host) const { return is_assumed_[static_cast<std::size_t>(host)]; }

  /// Time of a MB, in microseconds.
  double host_us_per_mb(int host, Direction direction) const {
    return us_per_mb_[static_cast<std::size_t>(direction)][static_cast<std::size_t>(host)];
  }
  double nic_us_per_mb(int host, int nic, Direction direction) const;
  /// The same for the fastest of its NICs; 0: it has none.
  double best_nic_us_per_mb(int host, Direction direction) const;
  /// The same for all of its NICs together.
  double all_nics_us_per_mb(int host, Direction direction) const;

  int usable_nics_of(int host) const { return nics_of(host).usable; }

  /// A place in Cluster::ways; kNone: nobody measured it.
  int way(int from, int to) const;
  double way_us_per_mb(int way) const;  ///< 0: nobody said
  double way_latency_us(int way) const;
  double latency_us() const { return cluster_.network.latency_us; }  ///< where no way says

  int hosts() const { return static_cast<int>(cluster_.hosts.size()); }
  int ways() const { return static_cast<int>(cluster_.ways.size()); }
  const HostWay& way_at(int way) const { return cluster_.ways[static_cast<std::size_t>(way)]; }

 private:
  struct MachineNics {
    std::vector<double> mb_per_s;  // by NIC
    double of_usable = 0;
    double best = 0;
    int usable = 0;
    bool has_unknown = false;  // a usable NIC whose rate no source states
  };

  const MachineNics& nics_of(int host) const;
  double nic_mb_per_s(int host, int nic, Direction direction) const;

  const Cluster& cluster_;
  std::vector<MachineNics> nics_;            // by machine
  std::vector<bool> is_assumed_;             // by host
  std::vector<double> us_per_mb_[2];         // by direction and host
  std::vector<std::size_t> first_way_from_;  // by host, and the end
};

}  // namespace paceline::topology
