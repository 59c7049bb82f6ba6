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
#include <span>
#include <vector>

#include "collectives/algo/parts.h"
#include "collectives/plan/plan.h"

namespace paceline {

/// The ranks of each host. Hosts count around in a circle, from -1 host circle to below 2.
class Hosts {
 public:
  explicit Hosts(const PlanRequest& request);

  int count() const { return static_cast<int>(ranks_.size()); }
  /// The ranks of all hosts.
  int ranks() const { return static_cast<int>(place_.size()); }
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
  /// The place of a share in an array of all shares, by home and owner.
  std::size_t share_at(int home, int owner) const {
    return static_cast<std::size_t>(around(home) * owners() + owner);
  }
  std::size_t shares() const { return ranks_.size() * static_cast<std::size_t>(owners()); }

 private:
  struct Place {
    int host, index;
  };
  std::vector<std::vector<int>> ranks_;  // by host
  std::vector<Place> place_;             // by rank
  int owners_ = 1;
  int most_ranks_ = 1;
};

/// A rank and its place among the ranks of its host. Borrows `hosts`.
struct HostRank {
  HostRank(const Hosts& hosts, int of_rank)
      : rank(of_rank),
        host(hosts.host_of(of_rank)),
        index(hosts.index_of(of_rank)),
        owns(index < hosts.owners()),
        ranks(hosts.ranks(host)) {}

  std::size_t others() const { return ranks.size() - 1; }

  int rank, host, index;
  bool owns;                   // whether it is an owner
  std::span<const int> ranks;  // of the host
};

struct Stretch {
  int rank = 0;
  Part part;  // of the array of all blocks, or of the array
};

/// The shares of all chunks of a request that has a root or blocks.
class Shares {
 public:
  explicit Shares(const PlanRequest& request);

  const Hosts& hosts() const { return hosts_; }
  /// Without stretches if the share is empty.
  const std::vector<Stretch>& of(int home, int owner) const {
    return shares_[hosts_.share_at(home, owner)];
  }
  std::size_t count(int home, int owner) const;
  std::size_t longest() const;
  /// The most elements that the ranks of a host send to other hosts. A host sends all chunks but
  /// one, and each chunk stays on one host.
  std::size_t count_between_hosts() const;

 private:
  void divide(int home, const std::vector<Stretch>& chunk);

  const Hosts hosts_;
  std::vector<std::vector<Stretch>> shares_;  // by home and owner
};

/// Stretches of at most `piece_count` elements, each of which travels in one message.
std::vector<Stretch> pieces_of(const std::vector<Stretch>& share, std::size_t piece_count);

/// Elements and messages of shares that travel in pieces.
class ShareSends {
 public:
  /// Borrows `shares`.
  ShareSends(const Shares& shares, std::size_t piece_count);

  /// A share: the stretches of its owner, and those of other ranks of its home.
  Sends of(int home, int owner) const { return kept(home, owner) + foreign(home, owner); }
  Sends kept(int home, int owner) const { return shares_[hosts_.share_at(home, owner)].kept; }
  Sends foreign(int home, int owner) const { return shares_[hosts_.share_at(home, owner)].foreign; }
  /// The shares of these owners on all homes.
  Sends of_owners(int owner) const { return of_owners_[static_cast<std::size_t>(owner)]; }
  /// The stretches of the rank in the shares of other owners.
  Sends foreign_of(int rank) const { return by_rank_[static_cast<std::size_t>(rank)]; }
  Sends all() const { return all_; }

 private:
  struct Share {
    Sends kept, foreign;
  };

  const Hosts& hosts_;
  std::vector<Share> shares_;  // by home and owner
  std::vector<Sends> of_owners_, by_rank_;
  Sends all_;
};

}  // namespace paceline
