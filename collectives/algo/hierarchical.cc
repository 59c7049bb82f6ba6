#include "collectives/algo/hierarchical.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

// Who is where, and who owns which part of the array.
class Hosts {
 public:
  explicit Hosts(const PlanRequest& request) : request_(request) {
    for (int rank = 0; rank < request.ranks; ++rank) {
      const int host =
          request.hosts == nullptr ? rank : (*request.hosts)[static_cast<std::size_t>(rank)];
      if (static_cast<std::size_t>(host) >= ranks_.size())
        ranks_.resize(static_cast<std::size_t>(host) + 1);
      place_.push_back({host, static_cast<int>(ranks_[static_cast<std::size_t>(host)].size())});
      ranks_[static_cast<std::size_t>(host)].push_back(rank);
    }
    owners_ = request.ranks;
    for (const std::vector<int>& host : ranks_)
      owners_ = std::min(owners_, static_cast<int>(host.size()));
  }

  int count() const { return static_cast<int>(ranks_.size()); }
  /// Ranks of each host that own a part.
  int owners() const { return owners_; }
  int host_of(int rank) const { return place_[static_cast<std::size_t>(rank)].host; }
  int index_of(int rank) const { return place_[static_cast<std::size_t>(rank)].index; }
  /// In a circle.
  const std::vector<int>& ranks(int host) const {
    return ranks_[static_cast<std::size_t>((host + 2 * count()) % count())];
  }
  int ranks_on(int host) const { return static_cast<int>(ranks(host).size()); }
  /// The piece of `owner`'s part that begins its way round the hosts at `host`, in a circle.
  Part piece(int owner, int host) const {
    const Part part = part_of(request_.count, owners_, owner);
    const Part piece = part_of(part.count, count(), host);
    return {.offset = part.offset + piece.offset, .count = piece.count};
  }
  /// What goes in one message between hosts, and from an owner to its host.
  std::vector<Part> segments(int owner, int host) const {
    return segments_of(piece(owner, host), request_.segment_count);
  }
  /// What goes in one message to an owner, on a host of so many ranks: of all others there at once.
  std::size_t near_count(int owner, int ranks) const {
    const auto senders = static_cast<std::size_t>(std::max(ranks - 1, 1));
    const std::size_t most = PieceSlots::piece_count(request_.segment_count, senders);
    return std::max<std::size_t>(1, std::min(most, piece(owner, 0).count));
  }

 private:
  struct Place {
    int host, index;
  };
  const PlanRequest& request_;
  std::vector<std::vector<int>> ranks_;  // by host
  std::vector<Place> place_;             // by rank
  int owners_ = 1;
};

class Hierarchical {
 public:
  explicit Hierarchical(const PlanRequest& request)
      : hosts_(request),
        rank_(request.rank),
        host_(hosts_.host_of(rank_)),
        index_(hosts_.index_of(rank_)),
        ranks_(hosts_.ranks(host_)),
        builder_(request),
        near_(builder_, owns() ? hosts_.near_count(index_, hosts_.ranks_on(host_)) : 0,
              owns() ? others() : 0),
        far_(builder_,
             owns() ? std::min(hosts_.piece(index_, 0).count, request.segment_count) : 0) {}

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
  int of_host(int host) const { return hosts_.ranks(host)[static_cast<std::size_t>(index_)]; }
  std::vector<Part> near_segments(int owner, int host) const {
    return segments_of(hosts_.piece(owner, host),
                       hosts_.near_count(owner, static_cast<int>(ranks_.size())));
  }

  void reduce_here(int host) {
    if (others() == 0) return;
    for (int owner = 0; owner < hosts_.owners(); ++owner) {
      if (owner == index_) continue;
      for (const Part& segment : near_segments(owner, host))
        builder_.send(ranks_[static_cast<std::size_t>(owner)], input(segment.offset),
                      segment.count);
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

  // What this host has summed up of a segment.
  Span own(const Part& segment) const {
    return others() == 0 ? input(segment.offset) : output(segment.offset);
  }

  void reduce_between_hosts() {
    int summed = hosts_.ranks_on(host_ - 1);  // ranks in what comes from the left
    for (int round = 0; round + 1 < hosts_.count(); ++round) {
      for (const Part& segment : hosts_.segments(index_, host_ - round))
        builder_.send(of_host(host_ + 1), round == 0 ? own(segment) : output(segment.offset),
                      segment.count);
      for (const Part& segment : hosts_.segments(index_, host_ - round - 1)) {
        const Span slot = far_.next();
        builder_.recv(of_host(host_ - 1), slot, segment.count);
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
      for (const Part& segment : hosts_.segments(index_, host_ + 1 - round))
        builder_.send(of_host(host_ + 1), output(segment.offset), segment.count);
      for (const Part& segment : hosts_.segments(index_, host_ - round))
        builder_.recv(of_host(host_ - 1), output(segment.offset), segment.count);
    }
  }

  void spread_here(int host) {
    if (others() == 0) return;
    for (int owner = 0; owner < hosts_.owners(); ++owner) {
      for (const Part& segment : hosts_.segments(owner, host)) {
        if (owner != index_) {
          builder_.recv(ranks_[static_cast<std::size_t>(owner)], output(segment.offset),
                        segment.count);
          continue;
        }
        for (const int rank : ranks_)
          if (rank != rank_) builder_.send(rank, output(segment.offset), segment.count);
      }
    }
  }

  const Hosts hosts_;
  const int rank_;
  const int host_;
  const int index_;                // on the host
  const std::vector<int>& ranks_;  // of the host
  PlanBuilder builder_;
  PieceSlots near_;  // for what comes from this host
  ScratchSlots far_;
  std::size_t arrived_ = 0;  // segments
};

// Sums over all pieces of an owner's part.
struct OfPart {
  std::size_t count = 0;
  std::size_t messages = 0;
};

OfPart of_part(const Hosts& hosts, int owner) {
  OfPart sum;
  for (int host = 0; host < hosts.count(); ++host) {
    sum.count += hosts.piece(owner, host).count;
    sum.messages += hosts.segments(owner, host).size();
  }
  return sum;
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
  const int h = hosts.count();
  Cost most;
  for (int host = 0; host < h; ++host) {
    if (hosts.piece(0, host).count == 0) continue;
    const int ends = (hosts.ranks_on(host) > 1 ? 1 : 0) + (hosts.ranks_on(host - 2) > 1 ? 1 : 0);
    most.rounds = std::max(most.rounds, static_cast<std::size_t>(2 * (h - 1) + ends));
  }
  for (int rank = 0; rank < request.ranks; ++rank) {
    const int host = hosts.host_of(rank), index = hosts.index_of(rank);
    const auto others = static_cast<std::size_t>(hosts.ranks_on(host) - 1);
    Cost one;
    for (int owner = 0; others > 0 && owner < hosts.owners(); ++owner) {
      if (owner == index) continue;
      for (int piece = 0; piece < h; ++piece) {
        const std::size_t count = hosts.piece(owner, piece).count;
        one.count_sent += count;
        one.messages += segments_in(count, hosts.near_count(owner, hosts.ranks_on(host)));
      }
    }
    if (index < hosts.owners()) {
      const OfPart part = of_part(hosts, index);
      const auto count = [&](int piece) { return hosts.piece(index, piece).count; };
      const auto messages = [&](int piece) { return hosts.segments(index, piece).size(); };
      one.count_reduced = others * part.count;
      one.count_sent += others * part.count;
      one.messages += others * part.messages;
      if (h > 1) {
        one.count_reduced += part.count - count(host);
        one.count_sent += 2 * part.count - count(host + 1) - count(host + 2);
        one.messages += 2 * part.messages - messages(host + 1) - messages(host + 2);
      }
    }
    most.messages = std::max(most.messages, one.messages);
    most.count_sent = std::max(most.count_sent, one.count_sent);
    most.count_reduced = std::max(most.count_reduced, one.count_reduced);
  }
  return most;
}

}  // namespace paceline
