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
std::size_t reduced_piece_count(const PlanRequest& request, const Shares& shares) {
  const auto senders = static_cast<std::size_t>(shares.hosts().most_ranks());
  const std::size_t count = std::max<std::size_t>(1, request.segment_count / senders);
  if (!has_root(request.kind)) return count;
  return pipelined_count(shares.longest(), shares.hosts().count() + 1, count);
}

class Reduction {
 public:
  explicit Reduction(const PlanRequest& request)
      : shares_(request),
        hosts_(shares_.hosts()),
        piece_count_(reduced_piece_count(request, shares_)),
        own_(hosts_, request.rank),
        output_at_(shape_of(request).output_at),
        builder_(request),
        room_(own_.owns ? longest_piece() : 0),
        slots_(builder_, room_ * own_.ranks.size()) {
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
          advance({.home = hosts_.around(own_.host - 1 - round), .piece = piece});
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

  std::size_t longest_piece() const {
    std::size_t longest = 0;
    for (int home = 0; home < hosts_.count(); ++home)
      longest = std::max(longest, shares_.count(home, own_.index));
    return std::min(longest, piece_count_);
  }
  const Stretch* piece_of(const Turn& turn, int owner) const {
    const auto& pieces = pieces_[hosts_.share_at(turn.home, owner)];
    return turn.piece < pieces.size() ? &pieces[turn.piece] : nullptr;
  }

  void advance(Turn turn) {
    for (int owner = 0; owner < hosts_.owners(); ++owner) {
      const Stretch* const piece = owner == own_.index ? nullptr : piece_of(turn, owner);
      if (piece != nullptr)
        builder_.send(hosts_.owner(own_.host, owner), input(piece->part.offset), piece->part.count);
    }
    const Stretch* const own = own_.owns ? piece_of(turn, own_.index) : nullptr;
    if (own != nullptr) reduce(turn, *own);
    // Ranks have sent for this turn before they wait for results of the one before.
    deliver(std::exchange(before_, turn));
  }

  void reduce(Turn& turn, const Stretch& piece) {
    const Part& part = piece.part;
    const bool is_first = own_.host == hosts_.around(turn.home + 1);
    Span result = input(part.offset);
    if (!is_first || own_.ranks.size() > 1) {
      Span slot = slots_.next();
      const bool wants = turn.home == own_.host && piece.rank == own_.rank;
      result = wants ? output(part.offset - output_at_) : slot;
      std::vector<Span> operands;
      std::vector<int> contributions;
      const auto receive = [&](int from, int summed) {
        builder_.recv(from, slot, part.count);
        operands.push_back(slot);
        contributions.push_back(summed);
        slot.offset += room_;
      };
      if (!is_first) receive(hosts_.owner(own_.host - 1, own_.index), ranks_between(turn.home));
      for (const int rank : own_.ranks) {
        if (rank != own_.rank) {
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
    if (turn.home != own_.host)
      builder_.send(hosts_.owner(own_.host + 1, own_.index), result, part.count);
    turn.result = result;
  }

  // Ranks whose elements come from the host before.
  int ranks_between(int home) const {
    int ranks = 0;
    for (int host = hosts_.around(home + 1); host != own_.host; host = hosts_.around(host + 1))
      ranks += hosts_.ranks_on(host);
    return ranks;
  }

  void deliver(const Turn& turn) {
    if (turn.home != own_.host) return;
    for (int owner = 0; owner < hosts_.owners(); ++owner) {
      const Stretch* const piece = piece_of(turn, owner);
      if (piece == nullptr) continue;
      if (owner == own_.index && piece->rank != own_.rank)
        builder_.send(piece->rank, turn.result, piece->part.count);
      if (owner != own_.index && piece->rank == own_.rank)
        builder_.recv(hosts_.owner(own_.host, owner), output(piece->part.offset - output_at_),
                      piece->part.count);
    }
  }

  const Shares shares_;
  const Hosts& hosts_;
  const std::size_t piece_count_;
  const HostRank own_;
  const std::size_t output_at_;  // in the array
  PlanBuilder builder_;
  const std::size_t room_;                    // for a piece of this owner
  ScratchSlots slots_;                        // for what arrives of a piece
  std::vector<std::vector<Stretch>> pieces_;  // by home and owner
  Turn before_{.home = -1};
};

}  // namespace

Plan plan_hierarchical_reduction(const PlanRequest& request) { return Reduction(request).plan(); }

// A rank sends every share once: to the owner on its host, to the next host, or from the home to
// the rank that wants it. An owner at home keeps its own elements.
Cost cost_of_hierarchical_reduction(const PlanRequest& request) {
  const Shares shares(request);
  const Hosts& hosts = shares.hosts();
  const ShareSends sends(shares, reduced_piece_count(request, shares));
  const auto hops = static_cast<std::size_t>(hosts.count() - 1);
  Cost most{.count_between_hosts = shares.count_between_hosts()};
  for (int rank = 0; rank < request.ranks; ++rank) {
    const HostRank one(hosts, rank);
    if (!one.owns) {
      most.raise_to(sends.all().cost());
      continue;
    }
    most.raise_to((sends.all() - sends.kept(one.host, one.index)).cost());
    // Each rank of the host adds an operand, and so does the previous host, unless it is the home.
    const Sends reduced =
        one.ranks.size() * sends.of_owners(one.index) - sends.of(one.host - 1, one.index);
    most.raise_to({.count_reduced = reduced.count});
    // The share of this owner at home: from the ranks of the first host, and to the other ranks.
    if (sends.of(one.host, one.index).count == 0) continue;
    most.raise_to({.rounds = hops + (hosts.ranks_on(one.host + 1) > 1 ? 1 : 0) +
                             (sends.foreign(one.host, one.index).count > 0 ? 1 : 0)});
  }
  return most;
}

}  // namespace paceline
