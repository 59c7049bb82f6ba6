// Which units of a host its ranks are bound to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/placement/rules/mapping.h"
#include "topology/placement/rules/mapping_units.h"

namespace paceline::topology {

struct BindRules {
  Unit bind_to = Unit::kCore;
  Unit counted = Unit::kCore;  ///< what a rank needs one of: a core or a hardware thread
  int each = 1;                ///< of them for each rank, from as many units as that takes
  bool may_overload = false;   ///< more ranks than there are of them
};

/// What is stated, and core or hwthread where rules.bind_to is not. Errors: contradictions.
Result<BindRules> bind_rules_of(const MappingRules& rules);

/// For people: "2 cores", "1 hardware thread"; "bound to 2 cores".
std::string counted_text(int count, Unit counted);
std::string text_of(const BindRules& rules);

/// Each rank is at one of `places`. It gets the unit there that the fewest others have, and the
/// units next to it as far as it needs more. Where places are themselves such units, a full one's
/// ranks go to its neighbours. Errors: more ranks than there are cores, with the numbers.
Result<std::vector<CpuSet>> bind_at_places(const HostUnits& units, const BindRules& rules,
                                           const std::vector<CpuSet>& places,
                                           const std::vector<int>& ranks, bool places_are_units);

/// The errors that binding has: `full` has too few cores for so many ranks; nobody has told which
/// unit `cpus` are in, if there are any.
Status too_few(const HostUnits& units, const BindRules& rules, std::size_t ranks,
               const CpuSet& full);
Status in_no_unit(const HostUnits& units, Unit unit, const CpuSet& cpus);

/// Of each rank whether another one has any of its CPUs.
std::vector<bool> which_share(const std::vector<CpuSet>& ranks);

}  // namespace paceline::topology
