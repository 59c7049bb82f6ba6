// How hierarchical algorithms divide ranks and elements.
//
//   owner    the k-th rank of a host, for k below the fewest ranks that any host has. The k-th
//            owners of all hosts exchange the k-th share of everything: all lines between hosts are
//            used by as many ranks as possible.
//   chunk    the elements that end (of a reduction) or begin (of a distribution) on one host, its
//            home: the blocks of its ranks, or the whole array on the host of the root
//   share    one of owners() nearly equal parts of a chunk, whose blocks count as one array here
//   stretch  consecutive elements of a share that one rank wants or has
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/plan/plan.h"

namespace paceline {

/// The ranks of each host. Hosts count around in a circle, from -1 host circle to below 2.
class Hosts {
 public:
  explicit Hosts(const PlanRequest& request);

  int count() const { return static_cast<int>(ranks_.size()); }
  /// Owners of each host.
  int owners() const { return owners_; }
  int most_ranks() const { return most_ranks_; }
  int host_of(int rank) const { return place_[static_cast<std::size_t>(rank)].host; }
  /// The number of ranks of its host before it.
  int index_of(int rank) const { return place_[static_cast<std::size_t>(rank)].index; }
  int around(int host) const { return (host + 2 * count()) % count(); }
  const std::vector<int>& ranks(int host) const {
    return ranks_[static_cast<std::size_t>(around(host))];
  }
  int ranks_on(int host) const { return static_cast<int>(ranks(host).size()); }
  int owner(int host, int index) const { return ranks(host)[static_cast<std::size_t>(index)]; }

 private:
  struct Place {
    int host, index;
  };
  std::vector<std::vector<int>> ranks_;  // by host
  std::vector<Place> place_;             // by rank
  int owners_ = 1;
  int most_ranks_ = 1;
};

struct Stretch {
  int rank = 0;
  Part part;  // of the array of all blocks, or of the array
};

/// The shares of all chunks of a request that has a root or blocks.
class Shares {
 public:
  /// Borrows `hosts`.
  Shares(const PlanRequest& request, const Hosts& hosts);

  /// Without stretches if the share is empty.
  const std::vector<Stretch>& of(int home, int owner) const {
    return shares_[static_cast<std::size_t>(hosts_.around(home) * hosts_.owners() + owner)];
  }
  std::size_t count(int home, int owner) const;
  std::size_t longest() const;

 private:
  const Hosts& hosts_;
  std::vector<std::vector<Stretch>> shares_;  // by home and owner
};

/// Stretches of at most `piece_count` elements: what travels in one message.
std::vector<Stretch> pieces_of(const std::vector<Stretch>& share, std::size_t piece_count);
std::size_t pieces_in(const std::vector<Stretch>& share, std::size_t piece_count);

}  // namespace paceline
