// Where servers sit on a host that may have ranks too.
#pragma once

#include <vector>

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/placement/host/seats.h"

namespace paceline::topology {

struct ServerSeatRequest {
  int servers = 1;
  CpuSet cpus;   ///< that they may use
  CpuSet taken;  ///< of them, by ranks
  bool crosses_hosts = false;
};

/// On CPUs that no rank has, those near a usable NIC where there are such; where ranks have all,
/// with them.
Result<std::vector<Seat>> seat_servers(const HostModel& host, const ServerSeatRequest& request);

}  // namespace paceline::topology
