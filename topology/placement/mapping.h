// Placement by stated rules instead of cost: --map-by, --rank-by, --bind-to and --cpus-per-rank
// with the meaning that Open MPI's users know. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/cluster/cluster.h"
#include "topology/placement/job_shape.h"
#include "topology/placement/plan.h"

namespace paceline::topology {

/// What CPUs are counted by.
enum class Unit : std::uint8_t { kHwthread, kCore, kL1, kL2, kL3, kNuma, kPackage, kNode, kSlot };

struct MappingRules {
  std::optional<Unit> map_by;   ///< none: by the cost
  int ranks_per_unit = 0;       ///< ppr:N:unit; 0: as many as there is room for
  std::optional<Unit> rank_by;  ///< none: as they are mapped
  std::optional<Unit> bind_to;  ///< kNode: not bound; none: what a rank's CPUs are without it
  int cpus_per_rank = 0;        ///< --cpus-per-rank and :PE=n; 0: what bind_to says
  bool may_overload = false;    ///< :OVERSUBSCRIBE, --bind-to core:overload-allowed
  bool spans_hosts = false;     ///< :SPAN

  bool is_any() const { return map_by || rank_by || bind_to || cpus_per_rank > 0; }
  bool operator==(const MappingRules&) const = default;
};

/// What the options say is added to `rules`. Errors name the word that is wrong and those there
/// are.
Status parse_map_by(const std::string& text, MappingRules& rules);   ///< "ppr:2:package:PE=2"
Status parse_rank_by(const std::string& text, MappingRules& rules);  ///< "node"
Status parse_bind_to(const std::string& text, MappingRules& rules);  ///< "core:overload-allowed"

/// Places the ranks by rules.map_by and rules.rank_by; one of them is stated. Errors name what does
/// not fit, with its numbers.
Result<Plan> map_ranks(const Cluster& cluster, const JobShape& job, const std::vector<int>& slots,
                       const MappingRules& rules);
/// What rules.bind_to and rules.cpus_per_rank say of a plan that cost has made.
Status bind_ranks(const Cluster& cluster, const MappingRules& rules, Plan& plan);

}  // namespace paceline::topology
