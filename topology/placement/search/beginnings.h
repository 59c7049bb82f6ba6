// Placements that are good to begin with: ranks in their order, block by block, over hosts in some
// order.
#pragma once

#include <string>
#include <vector>

#include "topology/placement/search/arranger.h"

namespace paceline::topology {

struct Beginning {
  std::string what;          ///< for people: "hosts in the order in which they were named"
  std::vector<int> host_of;  ///< by rank
};

/// Hosts in the order in which they were named, each filled before the next.
Beginning block_order(const Arranger& arranger);
/// One rank on each host, then the second on each, and so on.
Beginning round_robin(const Arranger& arranger);

/// The groups of a dimension over as many hosts as there are: for most jobs the worst.
Beginning across(const Arranger& arranger, std::size_t dimension);

/// block_order() first; then with hosts in other orders (the fastest first, those with the most
/// slots first, along fast ways) and whole groups of inner dimensions on each host, filled or
/// evenly over all; then with whole groups of each of the other dimensions. No two are equal.
std::vector<Beginning> beginnings(const Arranger& arranger);

/// Sizes of blocks of ranks that should not be cut: of the groups of inner dimensions, the largest
/// first, 1 last; none larger than the largest host.
std::vector<int> block_sizes(const Arranger& arranger);

}  // namespace paceline::topology
