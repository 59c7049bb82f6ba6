#include "collectives/algo/hierarchical_distribution.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/algo/hosts.h"
#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

std::size_t distributed_piece_count(const PlanRequest& request, const Shares& shares) {
  if (!has_root(request.kind)) return request.segment_count;
  return pipelined_count(shares.longest(), shares.hosts().count() + 1, request.segment_count);
}

class Distribution {
 public:
  explicit Distribution(const PlanRequest& request)
      : shares_(request),
        hosts_(shares_.hosts()),
        piece_count_(distributed_piece_count(request, shares_)),
        own_(hosts_, request.rank),
        input_at_(shape_of(request).input_at),
        builder_(request) {}

  Plan plan() && {
    collect_at_home();
    if (own_.owns) pass_between_hosts();
    // In the order in which chunks are complete here.
    for (int round = 0; round < hosts_.count(); ++round) spread_here(own_.host - round);
    copy_own();
    return std::move(builder_).finish();
  }

 private:
  std::vector<Stretch> pieces(int home, int owner) const {
    return pieces_of(shares_.of(home, owner), piece_count_);
  }
  // Where this rank has it.
  Span source(const Stretch& piece) const {
    return piece.rank == own_.rank ? input(piece.part.offset - input_at_)
                                   : output(piece.part.offset);
  }
  void send(int to, const Stretch& piece) { builder_.send(to, source(piece), piece.part.count); }
  void receive(int from, const Stretch& piece) {
    builder_.recv(from, output(piece.part.offset), piece.part.count);
  }

  void collect_at_home() {
    for (int owner = 0; owner < hosts_.owners(); ++owner)
      for (const Stretch& piece : pieces(own_.host, owner)) {
        if (owner != own_.index && piece.rank == own_.rank)
          send(hosts_.owner(own_.host, owner), piece);
        if (owner == own_.index && piece.rank != own_.rank) receive(piece.rank, piece);
      }
  }

  void pass_between_hosts() {
    for (int round = 0; round + 1 < hosts_.count(); ++round) {
      for (const Stretch& piece : pieces(own_.host - round, own_.index))
        send(hosts_.owner(own_.host + 1, own_.index), piece);
      for (const Stretch& piece : pieces(own_.host - round - 1, own_.index))
        receive(hosts_.owner(own_.host - 1, own_.index), piece);
    }
  }

  void spread_here(int home) {
    for (int owner = 0; owner < hosts_.owners(); ++owner)
      for (const Stretch& piece : pieces(home, owner)) {
        if (owner != own_.index) {
          if (piece.rank != own_.rank) receive(hosts_.owner(own_.host, owner), piece);
          continue;
        }
        for (const int rank : own_.ranks)
          if (rank != own_.rank && rank != piece.rank) send(rank, piece);
      }
  }

  // A piece when it has left.
  void copy_own() {
    for (int owner = 0; owner < hosts_.owners(); ++owner)
      for (const Stretch& piece : pieces(own_.host, owner))
        if (piece.rank == own_.rank)
          builder_.copy({.target = output(piece.part.offset),
                         .from = source(piece),
                         .count = piece.part.count});
  }

  const Shares shares_;
  const Hosts& hosts_;
  const std::size_t piece_count_;
  const HostRank own_;
  const std::size_t input_at_;  // in the array
  PlanBuilder builder_;
};

}  // namespace

Plan plan_hierarchical_distribution(const PlanRequest& request) {
  return Distribution(request).plan();
}

// An owner sends each of its shares to the other ranks of its host and to the next host. It does
// not send the share of the next host there, nor a stretch back to the rank that it came from.
Cost cost_of_hierarchical_distribution(const PlanRequest& request) {
  const Shares shares(request);
  const Hosts& hosts = shares.hosts();
  const ShareSends sends(shares, distributed_piece_count(request, shares));
  const auto hops = static_cast<std::size_t>(hosts.count() - 1);
  Cost most{.count_between_hosts = shares.count_between_hosts()};
  for (int rank = 0; rank < request.ranks; ++rank) {
    const HostRank one(hosts, rank);
    if (!one.owns) {
      most.raise_to(sends.foreign_of(rank).cost());
      continue;
    }
    const Sends sent = one.ranks.size() * sends.of_owners(one.index) -
                       sends.of(one.host + 1, one.index) - sends.foreign(one.host, one.index);
    most.raise_to((sends.foreign_of(rank) + sent).cost());
    // The share of this owner at home: to the last host, and to the other ranks there.
    const int last = hosts.ranks_on(one.host - 1) - 1;
    if (sends.kept(one.host, one.index).count > 0)
      most.raise_to({.rounds = hops + (last > 0 ? 1 : 0)});
    if (sends.foreign(one.host, one.index).count > 0)
      most.raise_to({.rounds = 1 + hops + (last > (hops == 0 ? 1 : 0) ? 1 : 0)});
  }
  return most;
}

}  // namespace paceline
