#include "topology/placement/servers/server_seats.h"

#include "comm/base/try.h"
#include "topology/placement/host/nic_choice.h"

namespace paceline::topology {
namespace {

CpuSet near_nics(const HostModel& host) {
  CpuSet near;
  for (const int nic : usable_nics(host)) {
    const Fact<Place>& place = host.nics[static_cast<std::size_t>(nic)].near;
    if (place.is_known()) near.add(place->cpus);
  }
  return near;
}

}  // namespace

Result<std::vector<Seat>> seat_servers(const HostModel& host, const ServerSeatRequest& request) {
  const CpuSet allowed = request.cpus & host.cpus;
  CpuSet cpus = allowed;
  cpus.remove(request.taken);
  const bool is_shared = cpus.is_empty() && !host.cpus.is_empty();
  if (is_shared) cpus = allowed;
  if (const CpuSet near = cpus & near_nics(host); !near.is_empty()) cpus = near;
  PACELINE_TRY_ASSIGN(std::vector<Seat> seats,
                      seat_ranks(host, {.ranks = request.servers,
                                        .cpus = cpus,
                                        .uses_gpus = false,
                                        .crosses_hosts = request.crosses_hosts}));
  for (Seat& seat : seats) {
    if (!is_shared) continue;
    seat.shares_cpus = true;
    seat.why += "; shares CPUs with ranks, which use all of them";
  }
  return seats;
}

}  // namespace paceline::topology
