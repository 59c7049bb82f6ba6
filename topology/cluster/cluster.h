// Several hosts as data: each distinct machine once, and what is known of the ways between hosts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topology/model/host_model.h"

namespace paceline::topology {

struct ClusterHost {
  std::string name;
  int machine = 0;  ///< a place in Cluster::machines
  CpuSet cpus;      ///< that ranks may use here; empty: all that the machine may

  bool operator==(const ClusterHost&) const = default;
};

/// From one host to another, with nothing else on the network.
struct HostWay {
  int from = 0;  ///< places in Cluster::hosts
  int to = 0;
  double mb_per_s = 0;    ///< 0: nobody said
  double latency_us = 0;  ///< of a small message; 0: nobody said

  bool operator==(const HostWay&) const = default;
};

/// What holds where no way says otherwise.
struct Network {
  double mb_per_s = 0;     ///< that a host sends, and at the same time receives; 0: as its NICs can
  double latency_us = 20;  ///< between two hosts: what TCP takes within a rack

  bool operator==(const Network&) const = default;
};

struct Cluster {
  std::vector<HostModel> machines;
  std::vector<ClusterHost> hosts;  ///< names differ
  std::vector<HostWay> ways;       ///< ascending by (from, to), each once
  Network network;
};

/// Their places in Cluster::hosts by their names, which `cluster` keeps.
std::unordered_map<std::string_view, int> places_by_name(const Cluster& cluster);

/// The hosts at these places, in this order, with the ways between them.
Cluster with_hosts(const Cluster& cluster, const std::vector<int>& places);

inline const HostModel& machine_of(const Cluster& cluster, int host) {
  const ClusterHost& one = cluster.hosts[static_cast<std::size_t>(host)];
  return cluster.machines[static_cast<std::size_t>(one.machine)];
}

/// What ranks may use there.
inline const CpuSet& cpus_of(const Cluster& cluster, int host) {
  const ClusterHost& one = cluster.hosts[static_cast<std::size_t>(host)];
  return one.cpus.is_empty() ? machine_of(cluster, host).cpus : one.cpus;
}

}  // namespace paceline::topology
