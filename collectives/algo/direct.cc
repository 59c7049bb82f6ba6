#include "collectives/algo/direct.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

std::size_t piece_count(const PlanRequest& request) {
  return PieceSlots::piece_count(request.segment_count,
                                 static_cast<std::size_t>(request.ranks - 1));
}

bool is_scattered(const PlanRequest& request) {
  return request.kind == OperationKind::kReduceScatter ||
         request.kind == OperationKind::kReduceScatterV;
}

// What each rank reduces: of the input, and where the result belongs in the output of those who
// get it.
Part share_of(const PlanRequest& request, int rank) {
  if (is_scattered(request)) return block_of(request, rank);
  return part_of(request.count, request.ranks, rank);
}

std::size_t longest_share(const PlanRequest& request) {
  std::size_t longest = 0;
  for (int rank = 0; rank < request.ranks; ++rank)
    longest = std::max(longest, share_of(request, rank).count);
  return longest;
}

// A reduction on the rank whose share it is. Of each share a piece after the other is sent, reduced
// and, where somebody else wants it, sent back; the next piece is on its way meanwhile.
class DirectReduction {
 public:
  explicit DirectReduction(const PlanRequest& request)
      : request_(request),
        piece_count_(piece_count(request)),
        pieces_(segments_in(longest_share(request), piece_count_)),
        builder_(request),
        slots_(builder_, std::min(share_of(request, request.rank).count, piece_count_),
               static_cast<std::size_t>(request.ranks - 1)) {}

  Plan plan() && {
    for (std::size_t index = 0; index <= pieces_; ++index) {
      if (index < pieces_) exchange(index);
      if (index > 0) finish(index - 1);
    }
    return std::move(builder_).finish();
  }

 private:
  // Ranks from the next one on, so that not all send to the same.
  template <class Use>
  void for_others(const Use& use) const {
    for (int further = 1; further < request_.ranks; ++further) {
      use((request_.rank + further) % request_.ranks);
    }
  }
  // Of a rank's share; empty where it has no more.
  Part piece(int rank, std::size_t index) const {
    const Part share = share_of(request_, rank);
    const std::size_t done = std::min(index * piece_count_, share.count);
    return {share.offset + done, std::min(piece_count_, share.count - done)};
  }
  bool wants_result(int rank) const {
    return request_.kind == OperationKind::kAllReduce ||
           (request_.kind == OperationKind::kReduce && rank == request_.root);
  }
  Span slot(std::size_t index, int rank) const {
    return slots_.of(index, static_cast<std::size_t>(rank < request_.rank ? rank : rank - 1));
  }

  void exchange(std::size_t index) {
    for_others([&](int rank) {
      const Part theirs = piece(rank, index);
      if (theirs.count > 0) builder_.send(rank, input(theirs.offset), theirs.count);
    });
    const Part own = piece(request_.rank, index);
    if (own.count == 0) return;
    for_others([&](int rank) { builder_.recv(rank, slot(index, rank), own.count); });
  }

  void finish(std::size_t index) {
    if (const Part own = piece(request_.rank, index); own.count > 0) reduce(own, index);
    if (!wants_result(request_.rank)) return;
    for_others([&](int rank) {
      const Part theirs = piece(rank, index);
      if (theirs.count > 0) builder_.recv(rank, output(theirs.offset), theirs.count);
    });
  }

  void reduce(const Part& own, std::size_t index) {
    std::vector<Span> operands;
    for (int rank = 0; rank < request_.ranks; ++rank) {
      operands.push_back(rank == request_.rank ? input(own.offset) : slot(index, rank));
    }
    const Span target = target_of(own, index);
    builder_.reduce({.target = target, .operands = std::move(operands), .count = own.count});
    for_others([&](int rank) {
      if (wants_result(rank)) builder_.send(rank, target, own.count);
    });
  }

  // A slot, where only others want the result.
  Span target_of(const Part& own, std::size_t index) const {
    if (is_scattered(request_))
      return output(own.offset - share_of(request_, request_.rank).offset);
    return wants_result(request_.rank) ? output(own.offset) : slot(index, request_.root);
  }

  const PlanRequest& request_;
  const std::size_t piece_count_;
  const std::size_t pieces_;  // of the longest share
  PlanBuilder builder_;
  PieceSlots slots_;
};

// Messages that carry `count` elements in pieces.
std::size_t messages_of(const PlanRequest& request, std::size_t count) {
  return segments_in(count, piece_count(request));
}

// Of the shares of all others.
struct Sent {
  std::size_t messages = 0;
  std::size_t count = 0;
};
Sent sent_to_others(const PlanRequest& request, int rank) {
  Sent sent;
  for (int other = 0; other < request.ranks; ++other) {
    if (other == rank) continue;
    const std::size_t count = share_of(request, other).count;
    sent.count += count;
    sent.messages += messages_of(request, count);
  }
  return sent;
}

// Each rank sends the shares of all others, and the result of its own to those who want it.
template <class Wants>
std::size_t shares_between_hosts(const PlanRequest& request, const Wants& wants) {
  std::vector<std::size_t> shares;
  for (int rank = 0; rank < request.ranks; ++rank) shares.push_back(share_of(request, rank).count);
  HostLines lines(request.ranks, request.hosts);
  for (int from = 0; from < request.ranks; ++from)
    for (int to = 0; to < request.ranks; ++to) {
      if (from == to) continue;
      lines.add(from, to, shares[static_cast<std::size_t>(to)]);
      if (wants(to)) lines.add(from, to, shares[static_cast<std::size_t>(from)]);
    }
  return lines.most();
}

// Of moving one block to each of some ranks: whoever has most to send.
void add_block(Cost& cost, std::size_t count) {
  if (count == 0) return;
  cost.rounds = 1;
  ++cost.messages;
  cost.count_sent += count;
}

}  // namespace

Plan plan_direct_reduction(const PlanRequest& request) {
  if (request.ranks == 1) return plan_alone(request);
  return DirectReduction(request).plan();
}

Plan plan_direct_gather(const PlanRequest& request) {
  PlanBuilder builder(request);
  const Part own = block_of(request, request.rank);
  if (request.rank != request.root) {
    if (own.count > 0) builder.send(request.root, input(0), own.count);
    return std::move(builder).finish();
  }
  for (int rank = 0; rank < request.ranks; ++rank) {
    const Part block = block_of(request, rank);
    if (rank != request.rank && block.count > 0)
      builder.recv(rank, output(block.offset), block.count);
  }
  builder.copy({.target = output(own.offset), .from = input(0), .count = own.count});
  return std::move(builder).finish();
}

Plan plan_direct_scatter(const PlanRequest& request) {
  PlanBuilder builder(request);
  const Part own = block_of(request, request.rank);
  if (request.rank != request.root) {
    if (own.count > 0) builder.recv(request.root, output(0), own.count);
    return std::move(builder).finish();
  }
  for (int rank = 0; rank < request.ranks; ++rank) {
    const Part block = block_of(request, rank);
    if (rank != request.rank && block.count > 0)
      builder.send(rank, input(block.offset), block.count);
  }
  builder.copy({.target = output(0), .from = input(own.offset), .count = own.count});
  return std::move(builder).finish();
}

// Each knows its own counts only: an empty message says that nothing comes.
Plan plan_direct_all_to_all(const PlanRequest& request) {
  PlanBuilder builder(request);
  const bool always = has_counts(request.kind);
  for (int further = 1; further < request.ranks; ++further) {
    const int to = (request.rank + further) % request.ranks;
    const int from = (request.rank + request.ranks - further) % request.ranks;
    const Part sent = block_of(request, to), received = received_block_of(request, from);
    if (sent.count > 0 || always) builder.send(to, input(sent.offset), sent.count);
    if (received.count > 0 || always) builder.recv(from, output(received.offset), received.count);
  }
  const Part own = block_of(request, request.rank);
  builder.copy({.target = output(received_block_of(request, request.rank).offset),
                .from = input(own.offset),
                .count = own.count});
  return std::move(builder).finish();
}

Cost cost_of_direct_reduce_scatter(const PlanRequest& request) {
  const std::size_t longest = longest_share(request);
  if (request.ranks == 1 || longest == 0) return {};
  Cost cost{.rounds = 1};
  for (int rank = 0; rank < request.ranks; ++rank) {
    const Sent sent = sent_to_others(request, rank);
    cost.messages = std::max(cost.messages, sent.messages);
    cost.count_sent = std::max(cost.count_sent, sent.count);
  }
  cost.count_reduced = static_cast<std::size_t>(request.ranks - 1) * longest;
  cost.count_between_hosts = shares_between_hosts(request, [](int) { return false; });
  return cost;
}

// Rank 0 has the longest share, and the last one the shortest.
Cost cost_of_direct_all_reduce(const PlanRequest& request) {
  if (request.ranks == 1 || request.count == 0) return {};
  Cost cost = cost_of_direct_reduce_scatter(request);
  cost.rounds = 2;
  cost.messages = 0;
  cost.count_sent = 0;
  cost.count_between_hosts = shares_between_hosts(request, [](int) { return true; });
  const auto others = static_cast<std::size_t>(request.ranks - 1);
  for (const int rank : {0, request.ranks - 1}) {
    const Sent sent = sent_to_others(request, rank);
    const std::size_t own = share_of(request, rank).count;
    cost.messages = std::max(cost.messages, sent.messages + others * messages_of(request, own));
    cost.count_sent = std::max(cost.count_sent, sent.count + others * own);
  }
  return cost;
}

// Who is not the root sends the shares of all others, and the result of its own.
Cost cost_of_direct_reduce(const PlanRequest& request) {
  if (request.ranks == 1 || request.count == 0) return {};
  Cost cost = cost_of_direct_reduce_scatter(request);
  const bool all_is_the_roots = request.root == 0 && share_of(request, 1).count == 0;
  cost.rounds = all_is_the_roots ? 1 : 2;
  cost.messages = 0;
  for (int rank = 0; rank < request.ranks; ++rank) {
    cost.messages += messages_of(request, share_of(request, rank).count);
  }
  cost.count_sent = request.count;
  cost.count_between_hosts =
      shares_between_hosts(request, [&](int rank) { return rank == request.root; });
  return cost;
}

Cost cost_of_direct_gather(const PlanRequest& request) {
  Cost cost;
  HostLines lines(request.ranks, request.hosts);
  for (int rank = 0; rank < request.ranks; ++rank) {
    Cost own;
    const std::size_t count = block_of(request, rank).count;
    if (rank != request.root) add_block(own, count);
    if (own.count_sent > cost.count_sent) cost = own;
    lines.add(rank, request.root, count);
  }
  cost.count_between_hosts = lines.most();
  return cost;
}

Cost cost_of_direct_scatter(const PlanRequest& request) {
  Cost cost;
  HostLines lines(request.ranks, request.hosts);
  for (int rank = 0; rank < request.ranks; ++rank) {
    const std::size_t count = block_of(request, rank).count;
    if (rank != request.root) add_block(cost, count);
    lines.add(request.root, rank, count);
  }
  cost.count_between_hosts = lines.most();
  return cost;
}

// Of all_to_all_v only what this rank knows: there is no other to choose.
Cost cost_of_direct_all_to_all(const PlanRequest& request) {
  Cost cost;
  for (int rank = 0; rank < request.ranks; ++rank) {
    if (rank != request.rank) add_block(cost, block_of(request, rank).count);
  }
  if (has_counts(request.kind)) return cost;
  HostLines lines(request.ranks, request.hosts);
  for (int from = 0; from < request.ranks; ++from)
    for (int to = 0; to < request.ranks; ++to)
      if (from != to) lines.add(from, to, request.count);
  cost.count_between_hosts = lines.most();
  return cost;
}

}  // namespace paceline
