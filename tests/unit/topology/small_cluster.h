// Clusters for tests of placement: a few hosts that are known by heart, and any number of random
// ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/random.h"
#include "tests/unit/topology/small_host.h"
#include "topology/cluster/cluster.h"
#include "topology/model/finish.h"

namespace paceline::topology {

/// CPUs, one NUMA node, one NIC of this rate; 0: none.
inline HostModel plain_host(std::uint64_t nic_mbit) {
  HostModel host{.name = "plain", .sources = {"a test"}};
  const Place place = place_of("0-15", 0);
  host.numa_nodes = {{.number = 0, .cpus = place.cpus, .memory_bytes = 64}};
  host.packages = {{.number = 0, .cpus = place.cpus}};
  if (nic_mbit > 0)
    host.nics = {{.name = "eth0",
                  .kind = NicKind::kEthernet,
                  .near = known(place),
                  .rate_mbit = known(nic_mbit)}};
  return finish(std::move(host), 0).value();
}

/// The same with GPUs below one host bridge each, and links of so many MB/s between some of them:
/// by pair, (0,1), (0,2)... (1,2)...; 0: none.
inline HostModel gpu_host(int gpus, const std::vector<std::uint64_t>& links,
                          std::uint64_t nic_mbit) {
  HostModel host = plain_host(nic_mbit);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    host.bridges.push_back({.near = known(place_of("0-15", 0))});
    const std::string name = "cuda" + std::to_string(gpu);
    host.gpus.push_back({.number = gpu,
                         .name = name,
                         .names = {name},
                         .pci = {.bus = known(BusId{.bus = static_cast<std::uint8_t>(3 + gpu)}),
                                 .bridge = gpu,
                                 .mb_per_s = known(std::uint64_t{7877})}});
  }
  std::size_t pair = 0;
  for (int a = 0; a < gpus; ++a)
    for (int b = a + 1; b < gpus; ++b, ++pair)
      if (pair < links.size() && links[pair] > 0)
        host.links.push_back({.gpu = a, .peer = b, .count = 1, .mb_per_s = known(links[pair])});
  return finish(std::move(host), 0).value();
}

/// As many hosts of one machine as there are names.
inline Cluster cluster_of(HostModel machine, const std::vector<std::string>& names) {
  Cluster cluster{.machines = {std::move(machine)}, .hosts = {}, .ways = {}, .network = {}};
  for (const std::string& name : names) cluster.hosts.push_back({.name = name});
  return cluster;
}

inline HostModel random_machine(Random& random) {
  constexpr std::uint64_t kRates[] = {0, 1000, 10000, 100000};
  const std::uint64_t nic = kRates[random.below(4)];
  switch (random.below(4)) {
    case 0:
      return plain_host(nic);
    case 1:
      return finish(small_host(), 0).value();
    default: {
      const int gpus = 1 + static_cast<int>(random.below(4));
      std::vector<std::uint64_t> links(6);
      for (std::uint64_t& link : links) link = random.below(3) * (5000 + random.below(40000));
      HostModel host = gpu_host(gpus, links, nic);
      if (host.nics.empty() || random.chance(0.5)) return host;
      for (const char* const name : {"eth1", "eth2"}) {
        host.nics.push_back(host.nics.front());
        host.nics.back().name = name;
        host.nics.back().rate_mbit = known(2000 + random.below(100000));
        host.nics.back().pci.bridge = static_cast<int>(random.below(host.bridges.size()));
      }
      return finish(std::move(host), 0).value();
    }
  }
}

/// Each way between hosts with this chance.
inline Cluster random_cluster(Random& random, int hosts, double way_chance) {
  Cluster cluster;
  const int machines = 1 + static_cast<int>(random.below(2));
  for (int i = 0; i < machines; ++i) cluster.machines.push_back(random_machine(random));
  for (int i = 0; i < hosts; ++i)
    cluster.hosts.push_back(
        {.name = "host" + std::to_string(i),
         .machine = static_cast<int>(random.below(static_cast<std::uint64_t>(machines)))});
  for (int from = 0; from < hosts; ++from)
    for (int to = 0; to < hosts; ++to)
      if (from != to && random.chance(way_chance))
        cluster.ways.push_back({.from = from,
                                .to = to,
                                .mb_per_s = random.chance(0.9) ? 100 + random.unit() * 10000 : 0,
                                .latency_us = random.chance(0.5) ? random.unit() * 100 : 0});
  if (random.chance(0.2)) cluster.network.mb_per_s = 200 + random.unit() * 5000;
  return cluster;
}

}  // namespace paceline::topology
