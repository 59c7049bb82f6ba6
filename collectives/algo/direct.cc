#include "collectives/algo/direct.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/algo/blocks.h"
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

// The elements of the input that each rank reduces.
Blocks shares_of(const PlanRequest& request) {
  if (is_scattered(request)) return blocks_of(request, input(0));
  Blocks parts(input(0));
  for (int rank = 0; rank < request.ranks; ++rank)
    parts.add(part_of(request.count, request.ranks, rank).count);
  return parts;
}

// Whether the rank gets the results of all shares.
bool wants_results(const PlanRequest& request, int rank) {
  return request.kind == OperationKind::kAllReduce ||
         (request.kind == OperationKind::kReduce && rank == request.root);
}

// Each rank reduces its share, piece by piece, and sends the result to the other ranks that want
// it. The next piece travels meanwhile.
class DirectReduction {
 public:
  explicit DirectReduction(const PlanRequest& request)
      : request_(request),
        shares_(shares_of(request)),
        piece_count_(piece_count(request)),
        pieces_(segments_in(shares_.longest(), piece_count_)),
        builder_(request),
        slots_(builder_, std::min(shares_.count(request.rank), piece_count_),
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
  // A piece of a rank's share; empty where the share has fewer pieces.
  Part piece(int rank, std::size_t index) const {
    const Part share = shares_.part(rank);
    const std::size_t done = std::min(index * piece_count_, share.count);
    return {share.offset + done, std::min(piece_count_, share.count - done)};
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
    if (!wants_results(request_, request_.rank)) return;
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
      if (wants_results(request_, rank)) builder_.send(rank, target, own.count);
    });
  }

  // A slot, where only others want the result.
  Span target_of(const Part& own, std::size_t index) const {
    if (is_scattered(request_)) return output(own.offset - shares_.part(request_.rank).offset);
    return wants_results(request_, request_.rank) ? output(own.offset) : slot(index, request_.root);
  }

  const PlanRequest& request_;
  const Blocks shares_;  // by rank
  const std::size_t piece_count_;
  const std::size_t pieces_;  // of the longest share
  PlanBuilder builder_;
  PieceSlots slots_;
};

// The ranks of a host, and their shares.
struct SharesOnHost {
  std::size_t ranks = 0;
  std::size_t count = 0;
  std::size_t wanters = 0;
};

// Each rank sends the shares of all others, and the result of its own to those that want results.
std::size_t shares_between_hosts(const PlanRequest& request, const Blocks& shares) {
  std::vector<SharesOnHost> hosts(static_cast<std::size_t>(request.ranks));
  std::size_t wanters = 0;
  for (int rank = 0; rank < request.ranks; ++rank) {
    SharesOnHost& host = hosts[static_cast<std::size_t>(request.host_of(rank))];
    ++host.ranks;
    host.count += shares.count(rank);
    if (!wants_results(request, rank)) continue;
    ++host.wanters;
    ++wanters;
  }
  std::size_t most = 0;
  for (const SharesOnHost& host : hosts)
    most = std::max(
        most, host.ranks * (shares.length() - host.count) + host.count * (wanters - host.wanters));
  return most;
}

// The cost of a rank that sends the block of each other rank to it.
Cost cost_of_blocks(const PlanRequest& request, int sender) {
  const Blocks blocks = blocks_of(request, input(0));
  Cost cost;
  for (int rank = 0; rank < request.ranks; ++rank) {
    if (rank == sender || blocks.count(rank) == 0) continue;
    cost.rounds = 1;
    ++cost.messages;
    cost.count_sent += blocks.count(rank);
  }
  return cost;
}

}  // namespace

Plan plan_direct_reduction(const PlanRequest& request) { return DirectReduction(request).plan(); }

Plan plan_direct_gather(const PlanRequest& request) {
  PlanBuilder builder(request);
  const Blocks blocks = blocks_of(request, output(0));
  const std::size_t own = blocks.count(request.rank);
  if (request.rank != request.root) {
    if (own > 0) builder.send(request.root, input(0), own);
    return std::move(builder).finish();
  }
  for (int rank = 0; rank < request.ranks; ++rank)
    if (rank != request.rank && blocks.count(rank) > 0)
      builder.recv(rank, blocks.at(rank), blocks.count(rank));
  builder.copy({.target = blocks.at(request.rank), .from = input(0), .count = own});
  return std::move(builder).finish();
}

Plan plan_direct_scatter(const PlanRequest& request) {
  PlanBuilder builder(request);
  const Blocks blocks = blocks_of(request, input(0));
  const std::size_t own = blocks.count(request.rank);
  if (request.rank != request.root) {
    if (own > 0) builder.recv(request.root, output(0), own);
    return std::move(builder).finish();
  }
  for (int rank = 0; rank < request.ranks; ++rank)
    if (rank != request.rank && blocks.count(rank) > 0)
      builder.send(rank, blocks.at(rank), blocks.count(rank));
  builder.copy({.target = output(0), .from = blocks.at(request.rank), .count = own});
  return std::move(builder).finish();
}

// A rank knows only its own counts: an empty message says that nothing comes.
Plan plan_direct_all_to_all(const PlanRequest& request) {
  PlanBuilder builder(request);
  const Blocks sent = blocks_of(request, input(0));
  const Blocks received = received_blocks_of(request, output(0));
  const bool always = has_counts(request.kind);
  for (int further = 1; further < request.ranks; ++further) {
    const int to = (request.rank + further) % request.ranks;
    const int from = (request.rank + request.ranks - further) % request.ranks;
    if (sent.count(to) > 0 || always) builder.send(to, sent.at(to), sent.count(to));
    if (received.count(from) > 0 || always)
      builder.recv(from, received.at(from), received.count(from));
  }
  builder.copy({.target = received.at(request.rank),
                .from = sent.at(request.rank),
                .count = sent.count(request.rank)});
  return std::move(builder).finish();
}

// A rank sends the shares of all others, and the result of its own to those that want results.
Cost cost_of_direct_reduction(const PlanRequest& request) {
  const Blocks shares = shares_of(request);
  if (shares.length() == 0) return {};
  const auto sends = [&](int rank) { return sends_of(shares.count(rank), piece_count(request)); };
  Sends all;
  std::size_t wanters = 0;
  for (int rank = 0; rank < request.ranks; ++rank) {
    all += sends(rank);
    if (wants_results(request, rank)) ++wanters;
  }
  Cost cost{.rounds = 1,
            .count_reduced = static_cast<std::size_t>(request.ranks - 1) * shares.longest(),
            .count_between_hosts = shares_between_hosts(request, shares)};
  for (int rank = 0; rank < request.ranks; ++rank) {
    const Sends results = (wanters - (wants_results(request, rank) ? 1 : 0)) * sends(rank);
    cost.raise_to((all - sends(rank) + results).cost());
    if (results.count > 0) cost.rounds = 2;
  }
  return cost;
}

Cost cost_of_direct_gather(const PlanRequest& request) {
  const Blocks blocks = blocks_of(request, input(0));
  Cost cost;
  HostLines lines(request.ranks, request.hosts);
  for (int rank = 0; rank < request.ranks; ++rank) {
    const std::size_t count = blocks.count(rank);
    if (rank != request.root && count > 0)
      cost.raise_to({.rounds = 1, .messages = 1, .count_sent = count});
    lines.add(rank, request.root, count);
  }
  cost.count_between_hosts = lines.most();
  return cost;
}

Cost cost_of_direct_scatter(const PlanRequest& request) {
  const Blocks blocks = blocks_of(request, input(0));
  Cost cost = cost_of_blocks(request, request.root);
  HostLines lines(request.ranks, request.hosts);
  for (int rank = 0; rank < request.ranks; ++rank)
    lines.add(request.root, rank, blocks.count(rank));
  cost.count_between_hosts = lines.most();
  return cost;
}

// For all_to_all_v, a rank knows only what it sends; there is one row, so nothing compares it.
Cost cost_of_direct_all_to_all(const PlanRequest& request) {
  Cost cost = cost_of_blocks(request, request.rank);
  if (has_counts(request.kind)) return cost;
  std::vector<std::size_t> ranks_on(static_cast<std::size_t>(request.ranks), 0);
  for (int rank = 0; rank < request.ranks; ++rank)
    ++ranks_on[static_cast<std::size_t>(request.host_of(rank))];
  for (const std::size_t on : ranks_on)
    cost.raise_to({.count_between_hosts =
                       on * (static_cast<std::size_t>(request.ranks) - on) * request.count});
  return cost;
}

}  // namespace paceline
