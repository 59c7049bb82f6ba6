// A cluster that is small enough to be known by heart, and what hosts' ranks may have of it.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/topology/small_host.h"
#include "topology/cluster/cluster.h"
#include "topology/model/finish.h"
#include "topology/placement/host/seats.h"
#include "topology/placement/model/plan.h"

namespace paceline::topology {

/// `count` hosts, a or n1 and so on, of one small machine.
inline Cluster alike_hosts(int count) {
  HostModel machine = small_host();
  machine.product = "A server";
  Cluster cluster{.machines = {finish(std::move(machine), 0).value()}};
  for (int i = 1; i <= count; ++i) cluster.hosts.push_back({.name = "n" + std::to_string(i)});
  return cluster;
}

/// Hosts a, a small machine, and b, one of the same without GPUs where CPUs 4-7 may be used.
inline Cluster two_hosts() {
  Cluster cluster = alike_hosts(2);
  HostModel without_gpus = small_host();
  without_gpus.gpus.clear();
  without_gpus.links.clear();
  cluster.machines.push_back(finish(std::move(without_gpus), 0).value());
  cluster.hosts[0].name = "a";
  cluster.hosts[1] = {.name = "b", .machine = 1, .cpus = CpuSet::parse("4-7").value()};
  return cluster;
}

/// `ranks` on each of the hosts, one host after the other.
inline Plan seated(const Cluster& cluster, int ranks) {
  Plan plan;
  for (std::size_t host = 0; host < cluster.hosts.size(); ++host) {
    const auto place = static_cast<int>(host);
    const SeatRequest request{
        .ranks = ranks, .cpus = cluster.hosts[host].cpus, .crosses_hosts = true};
    std::vector<Seat> seats = seat_ranks(machine_of(cluster, place), request).value();
    for (Seat& seat : seats) plan.ranks.push_back({.host = place, .seat = std::move(seat)});
  }
  return plan;
}

}  // namespace paceline::topology
