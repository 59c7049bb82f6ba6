// Placement by stated rules instead of cost: --map-by, --rank-by, --bind-to and --cpus-per-rank
// with the meaning that Open MPI's users know. Pure.
//
//   MappingRules rules;
//   PACELINE_TRY(parse_map_by("ppr:2:numa", rules));
//   PACELINE_TRY_ASSIGN(const Plan plan, map_ranks(cluster, job, slots, rules));
//
// What follows from rules that are not stated is what Open MPI 4.1 does: by the number of ranks
// where nothing is mapped by, else by what is; choose() in mapping.cc says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/cluster/cluster.h"
#include "topology/placement/model/job_shape.h"
#include "topology/placement/model/plan.h"

namespace paceline::topology {

/// What CPUs are counted by. A slot is anywhere on its host, as a node is.
enum class Unit : std::uint8_t { kHwthread, kCore, kL1, kL2, kL3, kNuma, kPackage, kNode, kSlot };

/// In which order the ranks of the units that are ranked by get their numbers.
enum class RankOrder : std::uint8_t {
  kCycle,  ///< one of each unit of a host, again and again; then the next host
  kSpan,   ///< one of each unit of all hosts, again and again
  kFill,   ///< all of a unit, then the next unit
};

struct MappingRules {
  std::optional<Unit> map_by;   ///< none: by the cost
  int ranks_per_unit = 0;       ///< ppr:N:unit; 0: as many as there is room for
  std::optional<Unit> rank_by;  ///< none: as they are mapped
  RankOrder rank_order = RankOrder::kCycle;
  std::optional<Unit> bind_to;     ///< kNode: not bound; none: what a rank's CPUs are without it
  int cpus_per_rank = 0;           ///< --cpus-per-rank and :PE=n; 0: what bind_to says
  bool may_overload = false;       ///< --bind-to core:overload-allowed: more ranks than cores
  bool may_oversubscribe = false;  ///< :OVERSUBSCRIBE: more ranks than slots; the caller sees to it
  bool spans_hosts = false;        ///< :SPAN: hosts in turn, not one full after the other

  /// Do they say where ranks are? If not, cost does, and bind_ranks() what they are bound to.
  bool is_mapping() const { return map_by || rank_by || rank_order != RankOrder::kCycle; }
  bool is_any() const { return is_mapping() || bind_to || cpus_per_rank > 0; }
  bool operator==(const MappingRules&) const = default;
};

/// What the options say is added to `rules`. Letters may be large or small, and what follows the
/// first word is separated by colons or commas. Errors name the word that is wrong and those there
/// are.
Status parse_map_by(const std::string& text, MappingRules& rules);   ///< "ppr:2:package:PE=2"
Status parse_rank_by(const std::string& text, MappingRules& rules);  ///< "node", "numa:span"
Status parse_bind_to(const std::string& text, MappingRules& rules);  ///< "core:overload-allowed"

/// Places the ranks by rules that are mapping, at most as many on each host as its `slots`. Servers
/// and costs are the caller's. Binding more ranks to cores than there are is an error where
/// rules.bind_to or rules.cpus_per_rank is stated, and else no rank is bound. Errors name what does
/// not fit, with its numbers.
Result<Plan> map_ranks(const Cluster& cluster, const JobShape& job, const std::vector<int>& slots,
                       const MappingRules& rules);
/// What rules.bind_to and rules.cpus_per_rank say of a plan that cost has made: its ranks keep
/// their hosts, GPUs and NICs. Errors leave the plan as it was.
Status bind_ranks(const Cluster& cluster, const MappingRules& rules, Plan& plan);

}  // namespace paceline::topology
