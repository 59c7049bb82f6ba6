#include "topology/placement/search/host_kinds.h"

#include <algorithm>
#include <utility>

#include "topology/placement/host/core_cut.h"
#include "topology/placement/host/nic_choice.h"

namespace paceline::topology {

HostKinds::HostKinds(const Cluster& cluster, const JobShape& job, const HostLinks& links)
    : cluster_(cluster), job_(job), links_(links) {
  for (const HostModel& host : cluster.machines) paths_.emplace_back(host);
  std::map<std::tuple<int, std::string, std::vector<double>>, int> known;
  for (int host = 0; host < links.hosts(); ++host) {
    std::vector<double> nics;
    for (int nic = 0; nic < static_cast<int>(machine_of(cluster, host).nics.size()); ++nic)
      for (const Direction way : {Direction::kOut, Direction::kIn})
        nics.push_back(links.nic_us_per_mb(host, nic, way));
    const std::string cpus = cluster.hosts[static_cast<std::size_t>(host)].cpus.to_text();
    const int next = static_cast<int>(known.size());
    kinds_.push_back(
        known.try_emplace({machine_number(host), cpus, std::move(nics)}, next).first->second);
  }
}

int HostKinds::gpus(int host) const {
  return job_.uses_gpus ? static_cast<int>(machine_of(cluster_, host).gpus.size()) : 0;
}

int HostKinds::cores(int host) {
  const auto [found, is_new] = cores_.try_emplace(kind(host), 0);
  if (!is_new) return found->second;
  const HostModel& machine = machine_of(cluster_, host);
  const CpuSet allowed = cpus_of(cluster_, host) & machine.cpus;
  found->second = count_cores(all_cores(machine), allowed);
  return found->second;
}

MachinePaths& HostKinds::paths(int host) {
  return paths_[static_cast<std::size_t>(machine_number(host))];
}

const std::vector<int>& HostKinds::nics_of_gpus(int host, const std::vector<int>& gpus) {
  const auto [found, is_new] = nics_.try_emplace({machine_number(host), gpus});
  if (is_new) {
    std::vector<DataPlace> places;
    places.reserve(gpus.size());
    for (const int gpu : gpus) places.push_back({.gpu = gpu});
    found->second = choose_nics(machine_of(cluster_, host), places).nics;
  }
  return found->second;
}

Result<std::vector<Seat>> HostKinds::seats(int host, const std::vector<int>& gpus, int ranks,
                                           bool crosses) {
  const std::tuple key(kind(host), gpus, ranks, crosses);
  if (const auto found = seats_.find(key); found != seats_.end()) return found->second;
  const HostModel& machine = machine_of(cluster_, host);
  const SeatRequest request{.ranks = ranks,
                            .cpus = cpus_of(cluster_, host),
                            .cores_each = job_.cores_each,
                            .uses_gpus = !gpus.empty(),
                            .crosses_hosts = crosses,
                            .gpus = gpus};
  Result<std::vector<Seat>> seats = seat_ranks(machine, request);
  if (!seats.ok()) {
    const std::string& name = cluster_.hosts[static_cast<std::size_t>(host)].name;
    return seats.status().with_context("host " + name);
  }
  return seats_.emplace(key, *std::move(seats)).first->second;
}

}  // namespace paceline::topology
