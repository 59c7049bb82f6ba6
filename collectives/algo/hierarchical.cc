#include "collectives/algo/hierarchical.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/algo/hosts.h"
#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

// How the array is divided. Owners are those of hosts.h.
class Pieces {
 public:
  /// Both are borrowed.
  Pieces(const PlanRequest& request, const Hosts& hosts) : request_(request), hosts_(hosts) {}

  /// The piece of `owner`'s part that begins its way round the hosts at `host`, in a circle.
  Part of(int owner, int host) const {
    const Part part = part_of(request_.count, hosts_.owners(), owner);
    const Part piece = part_of(part.count, hosts_.count(), host);
    return {.offset = part.offset + piece.offset, .count = piece.count};
  }
  /// Each travels in one message between hosts, and from an owner to a rank of its host.
  std::vector<Part> segments(int owner, int host) const {
    return segments_of(of(owner, host), request_.segment_count);
  }
  /// The most elements of a message to an owner, which has room for those of all others on its
  /// host, where there are so many ranks.
  std::size_t near_count(int owner, int ranks) const {
    const auto senders = static_cast<std::size_t>(std::max(ranks - 1, 1));
    const std::size_t most = PieceSlots::piece_count(request_.segment_count, senders);
    return std::max<std::size_t>(1, std::min(most, of(owner, 0).count));
  }
  /// A rank sends all pieces of the part to its owner, on a host of so many ranks.
  Sends to_owner(int owner, int ranks) const { return all(owner, near_count(owner, ranks)); }
  /// The owner sends all pieces of the result to a rank of its host.
  Sends to_rank(int owner) const { return all(owner, request_.segment_count); }
  /// The owner on `host` sends all pieces to the next host twice, but two of them once: it does not
  /// reduce the next piece there, nor send the result of the one after.
  Sends to_next_host(int owner, int host) const {
    const auto piece = [&](int at) {
      return sends_of(of(owner, at).count, request_.segment_count);
    };
    return 2 * to_rank(owner) - piece(host + 1) - piece(host + 2);
  }

 private:
  Sends all(int owner, std::size_t segment_count) const {
    const Part part = part_of(request_.count, hosts_.owners(), owner);
    return sends_of_parts(part.count, hosts_.count(), segment_count);
  }

  const PlanRequest& request_;
  const Hosts& hosts_;
};

class Hierarchical {
 public:
  explicit Hierarchical(const PlanRequest& request)
      : hosts_(request),
        pieces_(request, hosts_),
        own_(hosts_, request.rank),
        builder_(request),
        near_(builder_, own_.owns ? pieces_.near_count(own_.index, hosts_.ranks_on(own_.host)) : 0,
              own_.owns ? own_.others() : 0),
        far_(builder_,
             own_.owns ? std::min(pieces_.of(own_.index, 0).count, request.segment_count) : 0) {}

  Plan plan() && {
    // In the order in which pieces leave this host.
    for (int round = 0; round < hosts_.count(); ++round) reduce_here(own_.host - round);
    if (own_.owns) {
      reduce_between_hosts();
      gather_between_hosts();
    }
    // In the order in which they are complete.
    for (int round = 0; round < hosts_.count(); ++round) spread_here(own_.host + 1 - round);
    return std::move(builder_).finish();
  }

 private:
  std::vector<Part> near_segments(int owner, int host) const {
    return segments_of(pieces_.of(owner, host),
                       pieces_.near_count(owner, static_cast<int>(own_.ranks.size())));
  }

  void reduce_here(int host) {
    if (own_.others() == 0) return;
    for (int owner = 0; owner < hosts_.owners(); ++owner) {
      if (owner == own_.index) continue;
      for (const Part& segment : near_segments(owner, host))
        builder_.send(hosts_.owner(own_.host, owner), input(segment.offset), segment.count);
    }
    if (!own_.owns) return;
    for (const Part& segment : near_segments(own_.index, host)) {
      std::vector<Span> operands;
      std::size_t sender = 0;
      for (const int rank : own_.ranks) {
        if (rank == own_.rank) {
          operands.push_back(input(segment.offset));
          continue;
        }
        operands.push_back(near_.of(arrived_, sender++));
        builder_.recv(rank, operands.back(), segment.count);
      }
      ++arrived_;
      builder_.reduce({.target = output(segment.offset),
                       .operands = std::move(operands),
                       .count = segment.count});
    }
  }

  // The sum of this host's ranks.
  Span summed_here(const Part& segment) const {
    return own_.others() == 0 ? input(segment.offset) : output(segment.offset);
  }

  void reduce_between_hosts() {
    int summed = hosts_.ranks_on(own_.host - 1);  // ranks in what comes from the left
    for (int round = 0; round + 1 < hosts_.count(); ++round) {
      for (const Part& segment : pieces_.segments(own_.index, own_.host - round))
        builder_.send(hosts_.owner(own_.host + 1, own_.index),
                      round == 0 ? summed_here(segment) : output(segment.offset), segment.count);
      for (const Part& segment : pieces_.segments(own_.index, own_.host - round - 1)) {
        const Span slot = far_.next();
        builder_.recv(hosts_.owner(own_.host - 1, own_.index), slot, segment.count);
        builder_.reduce({.target = output(segment.offset),
                         .operands = {slot, summed_here(segment)},
                         .count = segment.count,
                         .contributions = {summed, hosts_.ranks_on(own_.host)}});
      }
      summed += hosts_.ranks_on(own_.host - round - 2);
    }
  }

  void gather_between_hosts() {
    for (int round = 0; round + 1 < hosts_.count(); ++round) {
      for (const Part& segment : pieces_.segments(own_.index, own_.host + 1 - round))
        builder_.send(hosts_.owner(own_.host + 1, own_.index), output(segment.offset),
                      segment.count);
      for (const Part& segment : pieces_.segments(own_.index, own_.host - round))
        builder_.recv(hosts_.owner(own_.host - 1, own_.index), output(segment.offset),
                      segment.count);
    }
  }

  void spread_here(int host) {
    if (own_.others() == 0) return;
    for (int owner = 0; owner < hosts_.owners(); ++owner) {
      for (const Part& segment : pieces_.segments(owner, host)) {
        if (owner != own_.index) {
          builder_.recv(hosts_.owner(own_.host, owner), output(segment.offset), segment.count);
          continue;
        }
        for (const int rank : own_.ranks)
          if (rank != own_.rank) builder_.send(rank, output(segment.offset), segment.count);
      }
    }
  }

  const Hosts hosts_;
  const Pieces pieces_;
  const HostRank own_;
  PlanBuilder builder_;
  PieceSlots near_;  // for what comes from this host
  ScratchSlots far_;
  std::size_t arrived_ = 0;  // segments
};

}  // namespace

Plan plan_hierarchical(const PlanRequest& request) { return Hierarchical(request).plan(); }

// A piece goes from host to host 2 (h - 1) times, with a round on the first and one on the last if
// there are other ranks. Between hosts an owner sends as a rank of a ring does.
Cost cost_of_hierarchical(const PlanRequest& request) {
  if (request.count == 0) return {};
  const Hosts hosts(request);
  const Pieces pieces(request, hosts);
  Cost most;
  for (int host = 0; host < hosts.count(); ++host) {
    const int ranks = hosts.ranks_on(host);
    if (pieces.of(0, host).count > 0) {
      const int ends = (ranks > 1 ? 1 : 0) + (hosts.ranks_on(host - 2) > 1 ? 1 : 0);
      most.raise_to({.rounds = static_cast<std::size_t>(2 * (hosts.count() - 1) + ends)});
    }
    Sends to_owners;
    for (int owner = 0; owner < hosts.owners(); ++owner) to_owners += pieces.to_owner(owner, ranks);
    if (ranks > hosts.owners()) most.raise_to(to_owners.cost());
    const auto others = static_cast<std::size_t>(ranks - 1);
    std::size_t to_next_host = 0;
    for (int owner = 0; owner < hosts.owners(); ++owner) {
      const Sends to_ranks = others * pieces.to_rank(owner), far = pieces.to_next_host(owner, host);
      const Sends sent = to_owners - pieces.to_owner(owner, ranks) + far + to_ranks;
      most.raise_to(sent.cost());
      // Each element once for each other rank, and once if it comes from the previous host.
      most.raise_to({.count_reduced = to_ranks.count + pieces.to_rank(owner).count -
                                      pieces.of(owner, host).count});
      to_next_host += far.count;
    }
    most.raise_to({.count_between_hosts = to_next_host});
  }
  return most;
}

}  // namespace paceline
