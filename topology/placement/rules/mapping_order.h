// Which number each rank of a mapped job gets.
#pragma once

#include <compare>
#include <vector>

#include "topology/placement/rules/mapping.h"
#include "topology/placement/rules/mapping_hosts.h"

namespace paceline::topology {

/// One of MappedHost::ranks.
struct MappedRank {
  int host = 0;   ///< a place in the list of mapped hosts
  int place = 0;  ///< in its ranks

  auto operator<=>(const MappedRank&) const = default;
};

/// By rank. Ranks that are in no such unit come last.
std::vector<MappedRank> number_ranks(const std::vector<MappedHost>& hosts, Unit by,
                                     RankOrder order);

}  // namespace paceline::topology
