#include "topology/read/live.h"

#include <utility>

#include "comm/base/try.h"
#include "topology/read/hwloc_machine.h"
#include "topology/read/merge.h"
#include "topology/read/nvml.h"
#include "topology/read/rdma_sysfs.h"

namespace paceline::topology {

Result<HostModel> read_this_machine() {
  PACELINE_TRY_ASSIGN(HostModel host, read_live_machine());
  const Result<HostModel> nvml = read_nvml();
  if (nvml.ok()) {
    PACELINE_TRY_ASSIGN(host, merge(std::move(host), *nvml));
  }
  const HostModel rdma = read_rdma_devices();
  if (!rdma.nics.empty()) {
    PACELINE_TRY_ASSIGN(host, merge(std::move(host), rdma));
  }
  return host;
}

}  // namespace paceline::topology
