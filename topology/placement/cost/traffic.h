// Who sends how much to whom: the parts of a step, as edges between ranks.
#pragma once

#include <string>
#include <vector>

#include "topology/placement/model/job_shape.h"

namespace paceline::topology {

/// A dimension of more than one rank. Each edge of it carries the same.
struct TrafficPart {
  std::string what;  ///< for people: "dp: all-reduce of 4 ranks, 2000 MB each"
  Traffic traffic = Traffic::kAllReduce;
  int size = 1;    ///< of a group
  int stride = 1;  ///< from a rank to the next of its group
  int rounds = 0;  ///< that wait for each other
  double mb = 0;   ///< along each edge, each way that there is one
};

/// Those that ranks have among themselves: without what servers carry.
std::vector<TrafficPart> parts_of(const JobShape& job);

/// Calls visit(peer) for each rank to which `rank` sends in this part.
template <class Visit>
void for_each_receiver(const TrafficPart& part, int rank, Visit visit) {
  const int own = rank / part.stride % part.size;
  const auto peer = [&](int other) { return rank + (other - own) * part.stride; };
  switch (part.traffic) {
    case Traffic::kAllReduce:
      visit(peer(own + 1 == part.size ? 0 : own + 1));
      return;
    case Traffic::kNeighbours:
      if (own > 0) visit(peer(own - 1));
      if (own + 1 < part.size) visit(peer(own + 1));
      return;
    case Traffic::kAllToAll:
      for (int other = 0; other < part.size; ++other)
        if (other != own) visit(peer(other));
      return;
  }
}

/// Calls visit(peer) for each rank from which `rank` receives.
template <class Visit>
void for_each_sender(const TrafficPart& part, int rank, Visit visit) {
  if (part.traffic != Traffic::kAllReduce) return for_each_receiver(part, rank, visit);
  const int own = rank / part.stride % part.size;
  visit(rank + ((own == 0 ? part.size : own) - 1 - own) * part.stride);
}

}  // namespace paceline::topology
