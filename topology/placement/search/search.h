// The search for a placement, from its beginnings to what came out of it.
#pragma once

#include <string>
#include <vector>

#include "topology/placement/search/arranger.h"

namespace paceline::topology {

struct Candidate {
  std::string what;  ///< for people, of another way to place the job
  Arrangement arrangement;
};

struct Found {
  Arrangement best;
  bool is_proven = false;         ///< no other is cheaper
  std::vector<Candidate> others;  ///< each with the best GPUs for it
};

/// Improves the best beginnings, and where there are few enough placements compares all.
Found search(Arranger& arranger);
/// The same without ever comparing all.
Found search_nearby(Arranger& arranger);

}  // namespace paceline::topology
