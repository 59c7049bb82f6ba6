// Where ranks go and what they are bound to, as far as the user of `paceline run` said.
#pragma once

#include <string>
#include <vector>

#include "topology/placement/model/job_shape.h"
#include "topology/placement/rules/mapping.h"

namespace paceline::launcher {

struct PlacementSpec {
  topology::MappingRules rules;  ///< --map-by, --rank-by, --bind-to, --cpus-per-rank
  std::string groups;            ///< --groups, as it was written
  int servers = 0;
  topology::ServersOn servers_on = topology::ServersOn::kSpread;
  std::vector<std::string> server_hosts;
  std::string plan_file;      ///< --plan; empty: none
  std::string cluster_file;   ///< --cluster; empty: the hosts themselves are asked
  std::string measured_file;  ///< --measured; empty: nobody has measured
  std::string save_plan;      ///< --save-plan; "-": standard output
  bool dry_run = false;
  bool report_bindings = false;

  bool operator==(const PlacementSpec&) const = default;
};

}  // namespace paceline::launcher
