#include "collectives/algo/hierarchical_distribution.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/algo/hosts.h"
#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

std::size_t distributed_piece_count(const PlanRequest& request, const Hosts& hosts,
                                    const Shares& shares) {
  if (!has_root(request.kind)) return request.segment_count;
  return pipelined_count(shares.longest(), hosts.count() + 1, request.segment_count);
}

class Distribution {
 public:
  explicit Distribution(const PlanRequest& request)
      : hosts_(request),
        shares_(request, hosts_),
        piece_count_(distributed_piece_count(request, hosts_, shares_)),
        rank_(request.rank),
        host_(hosts_.host_of(rank_)),
        index_(hosts_.index_of(rank_)),
        ranks_(hosts_.ranks(host_)),
        input_at_(has_root(request.kind) ? 0 : block_of(request, rank_).offset),
        builder_(request) {}

  Plan plan() && {
    collect_at_home();
    if (owns()) pass_between_hosts();
    // In the order in which chunks are complete here.
    for (int round = 0; round < hosts_.count(); ++round) spread_here(host_ - round);
    copy_own();
    return std::move(builder_).finish();
  }

 private:
  bool owns() const { return index_ < hosts_.owners(); }
  std::vector<Stretch> pieces(int home, int owner) const {
    return pieces_of(shares_.of(home, owner), piece_count_);
  }
  // Where this rank has it.
  Span source(const Stretch& piece) const {
    return piece.rank == rank_ ? input(piece.part.offset - input_at_) : output(piece.part.offset);
  }
  void send(int to, const Stretch& piece) { builder_.send(to, source(piece), piece.part.count); }
  void receive(int from, const Stretch& piece) {
    builder_.recv(from, output(piece.part.offset), piece.part.count);
  }

  void collect_at_home() {
    for (int owner = 0; owner < hosts_.owners(); ++owner)
      for (const Stretch& piece : pieces(host_, owner)) {
        if (owner != index_ && piece.rank == rank_) send(hosts_.owner(host_, owner), piece);
        if (owner == index_ && piece.rank != rank_) receive(piece.rank, piece);
      }
  }

  void pass_between_hosts() {
    for (int round = 0; round + 1 < hosts_.count(); ++round) {
      for (const Stretch& piece : pieces(host_ - round, index_))
        send(hosts_.owner(host_ + 1, index_), piece);
      for (const Stretch& piece : pieces(host_ - round - 1, index_))
        receive(hosts_.owner(host_ - 1, index_), piece);
    }
  }

  void spread_here(int home) {
    for (int owner = 0; owner < hosts_.owners(); ++owner)
      for (const Stretch& piece : pieces(home, owner)) {
        if (owner != index_) {
          if (piece.rank != rank_) receive(hosts_.owner(host_, owner), piece);
          continue;
        }
        for (const int rank : ranks_)
          if (rank != rank_ && rank != piece.rank) send(rank, piece);
      }
  }

  // A piece when it has left.
  void copy_own() {
    for (int owner = 0; owner < hosts_.owners(); ++owner)
      for (const Stretch& piece : pieces(host_, owner))
        if (piece.rank == rank_)
          builder_.copy({.target = output(piece.part.offset),
                         .from = source(piece),
                         .count = piece.part.count});
  }

  const Hosts hosts_;
  const Shares shares_;
  const std::size_t piece_count_;
  const int rank_;
  const int host_;
  const int index_;                // on the host
  const std::vector<int>& ranks_;  // of the host
  const std::size_t input_at_;     // in the array
  PlanBuilder builder_;
};

class DistributionCosts {
 public:
  explicit DistributionCosts(const PlanRequest& request)
      : hosts_(request),
        shares_(request, hosts_),
        piece_count_(distributed_piece_count(request, hosts_, shares_)) {}

  Cost most() const {
    Cost most;
    for (int host = 0; host < hosts_.count(); ++host) {
      most.count_between_hosts = std::max(most.count_between_hosts, sent_by(host));
      for (int owner = 0; owner < hosts_.owners(); ++owner)
        most.rounds = std::max(most.rounds, rounds(host, owner));
      for (const int rank : hosts_.ranks(host)) {
        const Cost one = of(rank);
        most.messages = std::max(most.messages, one.messages);
        most.count_sent = std::max(most.count_sent, one.count_sent);
      }
    }
    return most;
  }

 private:
  // To an owner at home, to the last host, and to its other ranks.
  std::size_t rounds(int home, int owner) const {
    std::size_t most = 0;
    for (const Stretch& stretch : shares_.of(home, owner)) {
      const int hops = hosts_.count() - 1;
      const int spread = receivers(home - 1, owner, stretch) > 0 ? 1 : 0;
      const int to_owner = stretch.rank != hosts_.owner(home, owner) ? 1 : 0;
      most = std::max(most, static_cast<std::size_t>(to_owner + hops + spread));
    }
    return most;
  }

  // Whether the host sends this chunk to the next one.
  bool passes_on(int host, int home) const { return hosts_.around(host + 1) != home; }

  std::size_t sent_by(int host) const {
    std::size_t sent = 0;
    for (int home = 0; home < hosts_.count(); ++home)
      for (int owner = 0; passes_on(host, home) && owner < hosts_.owners(); ++owner)
        sent += shares_.count(home, owner);
    return sent;
  }

  // Ranks of the host that an owner there sends it to.
  std::size_t receivers(int host, int owner, const Stretch& stretch) const {
    int ranks = hosts_.ranks_on(host) - 1;
    const bool has_it = hosts_.around(host) == hosts_.host_of(stretch.rank);
    if (has_it && stretch.rank != hosts_.owner(host, owner)) --ranks;
    return static_cast<std::size_t>(ranks);
  }

  void add_sent(const Stretch& stretch, std::size_t times, Cost& cost) const {
    cost.count_sent += times * stretch.part.count;
    cost.messages += times * segments_in(stretch.part.count, piece_count_);
  }

  Cost of(int rank) const {
    const int host = hosts_.host_of(rank), index = hosts_.index_of(rank);
    Cost cost;
    for (int owner = 0; owner < hosts_.owners(); ++owner)
      for (const Stretch& stretch : shares_.of(host, owner))
        if (owner != index && stretch.rank == rank) add_sent(stretch, 1, cost);
    if (index >= hosts_.owners()) return cost;
    for (int home = 0; home < hosts_.count(); ++home)
      for (const Stretch& stretch : shares_.of(home, index)) {
        const std::size_t on = passes_on(host, home) ? 1 : 0;
        add_sent(stretch, on + receivers(host, index, stretch), cost);
      }
    return cost;
  }

  const Hosts hosts_;
  const Shares shares_;
  const std::size_t piece_count_;
};

}  // namespace

Plan plan_hierarchical_distribution(const PlanRequest& request) {
  if (request.ranks == 1) return plan_alone(request);
  return Distribution(request).plan();
}

Cost cost_of_hierarchical_distribution(const PlanRequest& request) {
  return request.ranks == 1 ? Cost() : DistributionCosts(request).most();
}

}  // namespace paceline
