#include "collectives/algo/hierarchical_reduction.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/algo/hosts.h"
#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

// A slot has room for a piece from each rank of a host: from the others, and from the host before.
std::size_t reduced_piece_count(const PlanRequest& request, const Hosts& hosts,
                                const Shares& shares) {
  const auto senders = static_cast<std::size_t>(hosts.most_ranks());
  const std::size_t count = std::max<std::size_t>(1, request.segment_count / senders);
  if (!has_root(request.kind)) return count;
  return pipelined_count(shares.longest(), hosts.count() + 1, count);
}

class Reduction {
 public:
  explicit Reduction(const PlanRequest& request)
      : hosts_(request),
        shares_(request, hosts_),
        piece_count_(reduced_piece_count(request, hosts_, shares_)),
        rank_(request.rank),
        host_(hosts_.host_of(rank_)),
        index_(hosts_.index_of(rank_)),
        ranks_(hosts_.ranks(host_)),
        output_at_(has_root(request.kind) ? 0 : block_of(request, rank_).offset),
        builder_(request),
        room_(owns() ? longest_piece() : 0),
        slots_(builder_, room_ * ranks_.size()) {
    for (int home = 0; home < hosts_.count(); ++home)
      for (int owner = 0; owner < hosts_.owners(); ++owner)
        pieces_.push_back(pieces_of(shares_.of(home, owner), piece_count_));
  }

  Plan plan() && {
    std::size_t most = 0;
    for (const std::vector<Stretch>& pieces : pieces_) most = std::max(most, pieces.size());
    for (std::size_t first = 0; first < most; first += kTogether)
      // In the order in which chunks come from the host before; the last is the one at home.
      for (int round = 0; round < hosts_.count(); ++round)
        for (std::size_t piece = first; piece < std::min(first + kTogether, most); ++piece)
          advance({.home = hosts_.around(host_ - 1 - round), .piece = piece});
    deliver(before_);
    return std::move(builder_).finish();
  }

 private:
  // Fewer than there are slots: a piece that waits to be sent holds one.
  static constexpr std::size_t kTogether = ScratchSlots::kSlots / 2;

  struct Turn {
    int home = 0;
    std::size_t piece = 0;
    Span result{};  // of the owner, for another rank
  };

  bool owns() const { return index_ < hosts_.owners(); }
  std::size_t longest_piece() const {
    std::size_t longest = 0;
    for (int home = 0; home < hosts_.count(); ++home)
      longest = std::max(longest, shares_.count(home, index_));
    return std::min(longest, piece_count_);
  }
  const Stretch* piece_of(const Turn& turn, int owner) const {
    const auto& pieces = pieces_[static_cast<std::size_t>(turn.home * hosts_.owners() + owner)];
    return turn.piece < pieces.size() ? &pieces[turn.piece] : nullptr;
  }

  void advance(Turn turn) {
    for (int owner = 0; owner < hosts_.owners(); ++owner) {
      const Stretch* const piece = owner == index_ ? nullptr : piece_of(turn, owner);
      if (piece != nullptr)
        builder_.send(hosts_.owner(host_, owner), input(piece->part.offset), piece->part.count);
    }
    const Stretch* const own = owns() ? piece_of(turn, index_) : nullptr;
    if (own != nullptr) reduce(turn, *own);
    // Ranks have sent for this turn before they wait for results of the one before.
    deliver(std::exchange(before_, turn));
  }

  void reduce(Turn& turn, const Stretch& piece) {
    const Part& part = piece.part;
    const bool is_first = host_ == hosts_.around(turn.home + 1);
    Span result = input(part.offset);
    if (!is_first || ranks_.size() > 1) {
      Span slot = slots_.next();
      const bool wants = turn.home == host_ && piece.rank == rank_;
      result = wants ? output(part.offset - output_at_) : slot;
      std::vector<Span> operands;
      std::vector<int> contributions;
      const auto receive = [&](int from, int summed) {
        builder_.recv(from, slot, part.count);
        operands.push_back(slot);
        contributions.push_back(summed);
        slot.offset += room_;
      };
      if (!is_first) receive(hosts_.owner(host_ - 1, index_), ranks_between(turn.home));
      for (const int rank : ranks_) {
        if (rank != rank_) {
          receive(rank, 1);
          continue;
        }
        operands.push_back(input(part.offset));
        contributions.push_back(1);
      }
      builder_.reduce({.target = result,
                       .operands = std::move(operands),
                       .count = part.count,
                       .contributions = std::move(contributions)});
    }
    if (turn.home != host_) builder_.send(hosts_.owner(host_ + 1, index_), result, part.count);
    turn.result = result;
  }

  // Ranks whose elements come from the host before.
  int ranks_between(int home) const {
    int ranks = 0;
    for (int host = hosts_.around(home + 1); host != host_; host = hosts_.around(host + 1))
      ranks += hosts_.ranks_on(host);
    return ranks;
  }

  void deliver(const Turn& turn) {
    if (turn.home != host_) return;
    for (int owner = 0; owner < hosts_.owners(); ++owner) {
      const Stretch* const piece = piece_of(turn, owner);
      if (piece == nullptr) continue;
      if (owner == index_ && piece->rank != rank_)
        builder_.send(piece->rank, turn.result, piece->part.count);
      if (owner != index_ && piece->rank == rank_)
        builder_.recv(hosts_.owner(host_, owner), output(piece->part.offset - output_at_),
                      piece->part.count);
    }
  }

  const Hosts hosts_;
  const Shares shares_;
  const std::size_t piece_count_;
  const int rank_;
  const int host_;
  const int index_;                // on the host
  const std::vector<int>& ranks_;  // of the host
  const std::size_t output_at_;    // in the array
  PlanBuilder builder_;
  const std::size_t room_;                    // for a piece of this owner
  ScratchSlots slots_;                        // for what arrives of a piece
  std::vector<std::vector<Stretch>> pieces_;  // by home and owner
  Turn before_{.home = -1};
};

class ReductionCosts {
 public:
  explicit ReductionCosts(const PlanRequest& request)
      : hosts_(request),
        shares_(request, hosts_),
        piece_count_(reduced_piece_count(request, hosts_, shares_)) {}

  Cost most() const {
    Cost most{.rounds = rounds()};
    for (int host = 0; host < hosts_.count(); ++host) {
      most.count_between_hosts = std::max(most.count_between_hosts, sent_by(host));
      // Ranks that own nothing send alike: the first of them stands for all.
      const int kinds = std::min(hosts_.ranks_on(host), hosts_.owners() + 1);
      for (int index = 0; index < kinds; ++index) {
        const Cost one = of(host, index);
        most.messages = std::max(most.messages, one.messages);
        most.count_sent = std::max(most.count_sent, one.count_sent);
        most.count_reduced = std::max(most.count_reduced, one.count_reduced);
      }
    }
    return most;
  }

 private:
  std::size_t rounds() const {
    std::size_t most = 0;
    for (int home = 0; home < hosts_.count(); ++home)
      for (int owner = 0; owner < hosts_.owners(); ++owner)
        for (const Stretch& stretch : shares_.of(home, owner)) {
          const int ends = (hosts_.ranks_on(home + 1) > 1 ? 1 : 0) +
                           (stretch.rank != hosts_.owner(home, owner) ? 1 : 0);
          most = std::max(most, static_cast<std::size_t>(hosts_.count() - 1 + ends));
        }
    return most;
  }

  std::size_t sent_by(int host) const {
    std::size_t sent = 0;
    for (int home = 0; home < hosts_.count(); ++home)
      for (int owner = 0; home != host && owner < hosts_.owners(); ++owner)
        sent += shares_.count(home, owner);
    return sent;
  }

  void add_sent(int home, int owner, Cost& cost) const {
    cost.count_sent += shares_.count(home, owner);
    cost.messages += pieces_in(shares_.of(home, owner), piece_count_);
  }

  Cost of(int host, int index) const {
    const int ranks = hosts_.ranks_on(host);
    Cost cost;
    for (int home = 0; home < hosts_.count(); ++home) {
      for (int owner = 0; owner < hosts_.owners(); ++owner)
        if (owner != index) add_sent(home, owner, cost);
      if (index >= hosts_.owners()) continue;
      if (home != host) add_sent(home, index, cost);
      const int arrivals = ranks - 1 + (host != hosts_.around(home + 1) ? 1 : 0);
      cost.count_reduced += static_cast<std::size_t>(arrivals) * shares_.count(home, index);
    }
    if (index >= hosts_.owners()) return cost;
    for (const Stretch& stretch : shares_.of(host, index)) {
      if (stretch.rank == hosts_.owner(host, index)) continue;
      cost.count_sent += stretch.part.count;
      cost.messages += segments_in(stretch.part.count, piece_count_);
    }
    return cost;
  }

  const Hosts hosts_;
  const Shares shares_;
  const std::size_t piece_count_;
};

}  // namespace

Plan plan_hierarchical_reduction(const PlanRequest& request) {
  if (request.ranks == 1) return plan_alone(request);
  return Reduction(request).plan();
}

Cost cost_of_hierarchical_reduction(const PlanRequest& request) {
  return request.ranks == 1 ? Cost() : ReductionCosts(request).most();
}

}  // namespace paceline
