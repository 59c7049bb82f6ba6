#include "collectives/failure/binomial_graph.h"

#include <algorithm>

namespace paceline {

std::vector<int> binomial_graph_neighbours(int rank, int ranks) {
  std::vector<int> neighbours;
  for (long distance = 1; distance < ranks; distance *= 2) {
    neighbours.push_back(static_cast<int>((rank + distance) % ranks));
    neighbours.push_back(static_cast<int>((rank - distance + ranks) % ranks));
  }
  std::sort(neighbours.begin(), neighbours.end());
  neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
  return neighbours;
}

}  // namespace paceline
