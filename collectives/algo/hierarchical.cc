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

 private:
  const PlanRequest& request_;
  const Hosts& hosts_;
};

class Hierarchical {
 public:
  explicit Hierarchical(const PlanRequest& request)
      : hosts_(request),
        pieces_(request, hosts_),
        rank_(request.rank),
        host_(hosts_.host_of(rank_)),
        index_(hosts_.index_of(rank_)),
        ranks_(hosts_.ranks(host_)),
        builder_(request),
        near_(builder_, owns() ? pieces_.near_count(index_, hosts_.ranks_on(host_)) : 0,
              owns() ? others() : 0),
        far_(builder_, owns() ? std::min(pieces_.of(index_, 0).count, request.segment_count) : 0) {}

  Plan plan() && {
    // In the order in which pieces leave this host.
    for (int round = 0; round < hosts_.count(); ++round) reduce_here(host_ - round);
    if (owns()) {
      reduce_between_hosts();
      gather_between_hosts();
    }
    // In the order in which they are complete.
    for (int round = 0; round < hosts_.count(); ++round) spread_here(host_ + 1 - round);
    return std::move(builder_).finish();
  }

 private:
  bool owns() const { return index_ < hosts_.owners(); }
  std::size_t others() const { return ranks_.size() - 1; }
  std::vector<Part> near_segments(int owner, int host) const {
    return segments_of(pieces_.of(owner, host),
                       pieces_.near_count(owner, static_cast<int>(ranks_.size())));
  }

  void reduce_here(int host) {
    if (others() == 0) return;
    for (int owner = 0; owner < hosts_.owners(); ++owner) {
      if (owner == index_) continue;
      for (const Part& segment : near_segments(owner, host))
        builder_.send(hosts_.owner(host_, owner), input(segment.offset), segment.count);
    }
    if (!owns()) return;
    for (const Part& segment : near_segments(index_, host)) {
      std::vector<Span> operands;
      std::size_t sender = 0;
      for (const int rank : ranks_) {
        if (rank == rank_) {
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
  Span own(const Part& segment) const {
    return others() == 0 ? input(segment.offset) : output(segment.offset);
  }

  void reduce_between_hosts() {
    int summed = hosts_.ranks_on(host_ - 1);  // ranks in what comes from the left
    for (int round = 0; round + 1 < hosts_.count(); ++round) {
      for (const Part& segment : pieces_.segments(index_, host_ - round))
        builder_.send(hosts_.owner(host_ + 1, index_),
                      round == 0 ? own(segment) : output(segment.offset), segment.count);
      for (const Part& segment : pieces_.segments(index_, host_ - round - 1)) {
        const Span slot = far_.next();
        builder_.recv(hosts_.owner(host_ - 1, index_), slot, segment.count);
        builder_.reduce({.target = output(segment.offset),
                         .operands = {slot, own(segment)},
                         .count = segment.count,
                         .contributions = {summed, hosts_.ranks_on(host_)}});
      }
      summed += hosts_.ranks_on(host_ - round - 2);
    }
  }

  void gather_between_hosts() {
    for (int round = 0; round + 1 < hosts_.count(); ++round) {
      for (const Part& segment : pieces_.segments(index_, host_ + 1 - round))
        builder_.send(hosts_.owner(host_ + 1, index_), output(segment.offset), segment.count);
      for (const Part& segment : pieces_.segments(index_, host_ - round))
        builder_.recv(hosts_.owner(host_ - 1, index_), output(segment.offset), segment.count);
    }
  }

  void spread_here(int host) {
    if (others() == 0) return;
    for (int owner = 0; owner < hosts_.owners(); ++owner) {
      for (const Part& segment : pieces_.segments(owner, host)) {
        if (owner != index_) {
          builder_.recv(hosts_.owner(host_, owner), output(segment.offset), segment.count);
          continue;
        }
        for (const int rank : ranks_)
          if (rank != rank_) builder_.send(rank, output(segment.offset), segment.count);
      }
    }
  }

  const Hosts hosts_;
  const Pieces pieces_;
  const int rank_;
  const int host_;
  const int index_;                // on the host
  const std::vector<int>& ranks_;  // of the host
  PlanBuilder builder_;
  PieceSlots near_;  // for what comes from this host
  ScratchSlots far_;
  std::size_t arrived_ = 0;  // segments
};

// A rank sends this to an owner, on a host of so many ranks.
struct ToOwner {
  std::size_t count = 0;
  std::size_t messages = 0;
};

ToOwner to_owner(const Hosts& hosts, const Pieces& pieces, int owner, int ranks) {
  ToOwner sum;
  for (int piece = 0; piece < hosts.count(); ++piece) {
    const std::size_t count = pieces.of(owner, piece).count;
    sum.count += count;
    sum.messages += segments_in(count, pieces.near_count(owner, ranks));
  }
  return sum;
}

// Completes the cost of an owner. `one` counts that it sends to all owners, itself among them.
void add_owner(const Hosts& hosts, const Pieces& pieces, const PlanRequest& request, int host,
               int owner, std::size_t others, Cost& one) {
  if (others > 0) {
    const ToOwner own = to_owner(hosts, pieces, owner, static_cast<int>(others) + 1);
    one.count_sent -= own.count;
    one.messages -= own.messages;
  }
  const auto count = [&](int piece) { return pieces.of(owner, piece).count; };
  const auto messages = [&](int piece) { return segments_in(count(piece), request.segment_count); };
  std::size_t part = 0, segments = 0;
  for (int piece = 0; piece < hosts.count(); ++piece) {
    part += count(piece);
    segments += messages(piece);
  }
  one.count_reduced = others * part;
  one.count_sent += others * part;
  one.messages += others * segments;
  if (hosts.count() == 1) return;
  one.count_reduced += part - count(host);
  one.count_sent += 2 * part - count(host + 1) - count(host + 2);
  one.messages += 2 * segments - messages(host + 1) - messages(host + 2);
}

}  // namespace

Plan plan_hierarchical(const PlanRequest& request) {
  if (request.ranks == 1) return plan_alone(request);
  return Hierarchical(request).plan();
}

// A piece goes from host to host 2 (h - 1) times, with a round on the first and one on the last if
// there are other ranks. Between hosts an owner sends as a rank of a ring does.
Cost cost_of_hierarchical(const PlanRequest& request) {
  if (request.ranks == 1 || request.count == 0) return {};
  const Hosts hosts(request);
  const Pieces pieces(request, hosts);
  const int h = hosts.count();
  Cost most;
  HostLines lines(request.ranks, request.hosts);
  for (int host = 0; host < h; ++host) {
    if (pieces.of(0, host).count == 0) continue;
    const int ends = (hosts.ranks_on(host) > 1 ? 1 : 0) + (hosts.ranks_on(host - 2) > 1 ? 1 : 0);
    most.rounds = std::max(most.rounds, static_cast<std::size_t>(2 * (h - 1) + ends));
  }
  for (int host = 0; host < h; ++host) {
    const int ranks = hosts.ranks_on(host);
    const auto others = static_cast<std::size_t>(ranks - 1);
    ToOwner to_all;
    for (int owner = 0; others > 0 && owner < hosts.owners(); ++owner) {
      const ToOwner one = to_owner(hosts, pieces, owner, ranks);
      to_all.count += one.count;
      to_all.messages += one.messages;
    }
    // Ranks that own nothing send alike: the first of them stands for all.
    for (int index = 0; index < std::min(ranks, hosts.owners() + 1); ++index) {
      Cost one{.messages = to_all.messages, .count_sent = to_all.count};
      if (index < hosts.owners()) add_owner(hosts, pieces, request, host, index, others, one);
      most.messages = std::max(most.messages, one.messages);
      most.count_sent = std::max(most.count_sent, one.count_sent);
      most.count_reduced = std::max(most.count_reduced, one.count_reduced);
    }
    for (int owner = 0; h > 1 && owner < hosts.owners(); ++owner)
      lines.add(hosts.owner(host, owner), hosts.owner(host + 1, owner),
                2 * part_of(request.count, hosts.owners(), owner).count -
                    pieces.of(owner, host + 1).count - pieces.of(owner, host + 2).count);
  }
  most.count_between_hosts = lines.most();
  return most;
}

}  // namespace paceline
