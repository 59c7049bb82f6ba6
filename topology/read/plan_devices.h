// What ranks may have of a host, by the names that plans give it: GPUs, NICs and NUMA nodes.
#pragma once

#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/json_value.h"

namespace paceline::topology {

/// Of one machine, which lives longer. What is missing leaves `into` as it is. Errors name `host`,
/// and what is there instead.
class PlanDevices {
 public:
  explicit PlanDevices(const HostModel& machine);

  /// {"name": "cuda0", "bus": "0000:07:00.0"}, the name alone, or null. The name may be any that
  /// only one GPU has.
  Status read_gpu(const JsonValue& from, const std::string& host, int& into) const;
  /// A name or null.
  Status read_nic(const JsonValue& from, const std::string& host, int& into) const;
  /// A list of numbers, which come out ascending.
  Status read_nodes(const JsonValue& from, const std::string& host, std::vector<int>& into) const;

 private:
  Status read_gpu_name(const JsonValue& from, const std::string& host, int& into) const;

  const HostModel& machine_;
  Places gpus_, nics_;
  Places other_gpu_names_;  // kNone where several GPUs have one
  std::vector<int> nodes_;  // numbers, ascending
};

}  // namespace paceline::topology
