// Where every rank and server of a job goes, what that costs, and why.
#pragma once

#include <string>
#include <vector>

#include "topology/placement/host/seats.h"

namespace paceline::topology {

/// A rank's or a server's. A seat without CPUs is bound to none; without NUMA nodes its memory
/// comes from where it runs.
struct Placed {
  int host = 0;  ///< a place in Cluster::hosts
  Seat seat;     ///< of that host's machine

  bool operator==(const Placed&) const = default;
};

struct PlacedServer {
  Placed place;
  double share = 0;  ///< of all parameters; those of all servers sum to 1

  bool operator==(const PlacedServer&) const = default;
};

/// What a part of a step takes, by cost.h.
struct CostPart {
  std::string what;  ///< for people: "dp: all-reduce of 4 ranks, 2000 MB each"
  double us = 0;

  bool operator==(const CostPart&) const = default;
};

/// Another way to place the job, and why it was not taken.
struct Alternative {
  std::string what;  ///< a sentence for people
  double cost_us = 0;

  bool operator==(const Alternative&) const = default;
};

struct Plan {
  std::vector<Placed> ranks;  ///< by rank
  std::vector<PlacedServer> servers;
  double cost_us = 0;  ///< of a step; the sum of its parts; 0: nobody has estimated it
  std::vector<CostPart> parts;
  std::vector<std::string> reasons;  ///< a sentence for each decision
  std::vector<Alternative> alternatives;
};

}  // namespace paceline::topology
