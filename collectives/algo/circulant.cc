#include "collectives/algo/circulant.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/algo/blocks.h"
#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

// Blocks are counted around the circle from a rank's own one.
struct Round {
  int skip = 0;    // the distance to the receiver, and the first block that it gets
  int blocks = 0;  // that it gets; the receiver adds them to its blocks from 0 on
};

std::vector<Round> rounds_of(int ranks) {
  std::vector<Round> rounds;
  for (int left = ranks; left > 1; left = rounds.back().skip) {
    const int skip = (left + 1) / 2;
    rounds.push_back({.skip = skip, .blocks = left - skip});
  }
  return rounds;
}

// Consecutive blocks that are handled together, for their elements in one column.
struct Lot {
  int first = 0;
  std::size_t count = 0;
};

class Columns {
 public:
  explicit Columns(const PlanRequest& request)
      : ranks_(request.ranks),
        rounds_(rounds_of(request.ranks)),
        blocks_(blocks_of(request, input(0))) {
    const int arriving = rounds_[0].blocks + (rounds_.size() > 1 ? rounds_[1].blocks : 0);
    width_ = PieceSlots::piece_count(request.segment_count, static_cast<std::size_t>(arriving));
    columns_ = segments_in(blocks_.longest(), width_);
  }

  const std::vector<Round>& rounds() const { return rounds_; }
  std::size_t count() const { return columns_; }
  std::size_t width() const { return width_; }
  const Blocks& blocks() const { return blocks_; }
  std::size_t length(int rank) const { return blocks_.count(rank % ranks_); }
  std::size_t offset_in_block(std::size_t column) const { return column * width_; }
  /// Elements of the rank's block in the column.
  std::size_t count_of(int rank, std::size_t column) const {
    const std::size_t length = this->length(rank);
    return std::min(width_, length - std::min(length, offset_in_block(column)));
  }
  Span input_of(int rank, std::size_t column) const {
    Span at = blocks_.at(rank % ranks_);
    at.offset += offset_in_block(column);
    return at;
  }
  /// The first block that a round takes from the input. Earlier blocks are partial results, which
  /// lie together in scratch.
  int first_in_input(std::size_t round) const { return round == 0 ? 0 : rounds_[0].blocks; }
  /// Whether another part of the input lies between this block of the rank and the previous one.
  bool is_apart(int rank, int block) const { return columns_ > 1 || (rank + block) % ranks_ == 0; }

  /// Non-empty lots of `blocks` blocks of `rank` from `first` on. begins(block): a new lot.
  template <class Begins>
  std::vector<Lot> lots(int rank, int first, int blocks, std::size_t column,
                        const Begins& begins) const {
    std::vector<Lot> lots;
    bool is_new = true;
    for (int block = first; block < first + blocks; ++block) {
      is_new = is_new || begins(block);
      const std::size_t count = count_of(rank + block, column);
      if (count == 0) continue;
      if (is_new) lots.push_back({.first = block});
      lots.back().count += count;
      is_new = false;
    }
    return lots;
  }

  /// The rank sends each of these lots in one message.
  std::vector<Lot> messages(int rank, std::size_t round, std::size_t column) const {
    const auto [skip, blocks] = rounds_[round];
    const int in_input = first_in_input(round);
    return lots(rank, skip, blocks, column, [&](int block) {
      return block == in_input || (block > in_input && is_apart(rank, block));
    });
  }

 private:
  const int ranks_;
  const std::vector<Round> rounds_;
  const Blocks blocks_;
  std::size_t width_ = 1;
  std::size_t columns_ = 0;
};

class Circulant {
 public:
  explicit Circulant(const PlanRequest& request)
      : rank_(request.rank),
        ranks_(request.ranks),
        columns_(request),
        rounds_(columns_.rounds()),
        builder_(request) {
    // The first column is the longest.
    begin_column(0);
    for (std::size_t set = 0; set < std::min(columns_.count(), PieceSlots::kAtOnce); ++set) {
      partial_.push_back(builder_.reserve_scratch(place_.back()));
      arrived_.push_back(builder_.reserve_scratch(
          rounds_.size() > 1 ? place_[static_cast<std::size_t>(rounds_[1].blocks)] : 0));
    }
  }

  Plan plan() && {
    for (std::size_t column = 0; column < columns_.count(); ++column) {
      begin_column(column);
      for (std::size_t round = 0; round < rounds_.size(); ++round) {
        exchange(round);
        reduce(round);
      }
    }
    return std::move(builder_).finish();
  }

 private:
  void begin_column(std::size_t column) {
    column_ = column;
    place_.assign(1, 0);
    for (int block = 0; block < rounds_[0].blocks; ++block)
      place_.push_back(place_.back() + columns_.count_of(rank_ + block, column));
    summed_.assign(static_cast<std::size_t>(ranks_), 1);
  }

  // The place of the block in this column's half of the scratch.
  Span scratch(const std::vector<Span>& begins, int block) const {
    Span at = begins[column_ % PieceSlots::kAtOnce];
    at.offset += place_[static_cast<std::size_t>(block)];
    return at;
  }
  Span partial(int block) const { return scratch(partial_, block); }
  // The input is added to the arrivals of round 0, which so become the first partial results.
  Span arrived(std::size_t round, int block) const {
    return round == 0 ? partial(block) : scratch(arrived_, block);
  }
  Span own(std::size_t round, int block) const {
    return block < columns_.first_in_input(round) ? partial(block)
                                                  : columns_.input_of(rank_ + block, column_);
  }
  int summed(int block) const { return summed_[static_cast<std::size_t>(block)]; }

  void exchange(std::size_t round) {
    const int skip = rounds_[round].skip;
    const int to = (rank_ + skip) % ranks_, from = (rank_ + ranks_ - skip) % ranks_;
    for (const Lot& lot : columns_.messages(rank_, round, column_))
      builder_.send(to, own(round, lot.first), lot.count);
    for (const Lot& lot : columns_.messages(from, round, column_))
      builder_.recv(from, arrived(round, lot.first - skip), lot.count);
  }

  void reduce(std::size_t round) {
    const auto [skip, blocks] = rounds_[round];
    const bool is_last = round + 1 == rounds_.size();
    const auto begins = [&, skip = skip](int block) {
      return (round == 0 && columns_.is_apart(rank_, block)) ||
             summed(block) != summed(block - 1) || summed(block + skip) != summed(block + skip - 1);
    };
    for (const Lot& lot : columns_.lots(rank_, 0, blocks, column_, begins)) {
      builder_.reduce(
          {.target = is_last ? output(columns_.offset_in_block(column_)) : partial(lot.first),
           .operands = {arrived(round, lot.first), own(round, lot.first)},
           .count = lot.count,
           .contributions = {summed(lot.first + skip), summed(lot.first)}});
    }
    for (int block = 0; block < blocks; ++block)
      summed_[static_cast<std::size_t>(block)] += summed(block + skip);
  }

  const int rank_;
  const int ranks_;
  const Columns columns_;
  const std::vector<Round>& rounds_;
  PlanBuilder builder_;
  std::vector<Span> partial_, arrived_;  // of the columns under way
  std::size_t column_ = 0;
  std::vector<std::size_t> place_;  // of each block in scratch, and where the last one ends
  std::vector<int> summed_;         // ranks whose elements a block sums up, on every rank alike
};

// The most messages that block 0 waits for one after the other. Partial results leave in one
// message, so all of them wait for the slowest.
std::size_t longest_chain(const Columns& columns, int ranks) {
  std::vector<std::size_t> chains(static_cast<std::size_t>(ranks), 0);
  const auto at = [&](int block) { return chains.begin() + block; };
  for (const auto& [skip, blocks] : columns.rounds()) {
    const int partial = std::clamp(columns.rounds()[0].blocks - skip, 0, blocks);
    std::fill_n(at(skip), partial,
                partial > 0 ? *std::max_element(at(skip), at(skip + partial)) : 0);
    for (int block = 0; block < blocks; ++block)
      *at(block) = std::max(*at(block), *at(block + skip) + 1);
  }
  return chains[0];
}

std::size_t between_hosts(const Columns& columns, const PlanRequest& request) {
  HostLines lines(request.ranks, request.hosts);
  for (int rank = 0; rank < request.ranks; ++rank)
    for (const auto& [skip, blocks] : columns.rounds())
      lines.add(rank, (rank + skip) % request.ranks,
                columns.blocks().length_around(rank + skip, blocks));
  return lines.most();
}

// The segments of each block, one for each column in which the block has elements.
Blocks segments_of_blocks(const Columns& columns, int ranks) {
  Blocks segments(input(0));
  for (int rank = 0; rank < ranks; ++rank)
    segments.add(segments_in(columns.length(rank), columns.width()));
  return segments;
}

// The messages that a rank sends.
class Messages {
 public:
  Messages(const Columns& columns, int ranks)
      : columns_(columns), ranks_(ranks), segments_(segments_of_blocks(columns, ranks)) {}

  std::size_t of(int rank) const {
    const std::vector<Round>& rounds = columns_.rounds();
    std::size_t messages = 0;
    if (columns_.count() == 1) {
      for (std::size_t round = 0; round < rounds.size(); ++round)
        messages += columns_.messages(rank, round, 0).size();
      return messages;
    }
    // In a column, each block of the input is a message, and partial results of a round are one.
    const int partial = rounds[0].blocks;
    messages = segments_.length_around(rank + partial, ranks_ - partial);
    for (std::size_t round = 1; round < rounds.size(); ++round) {
      const auto [skip, blocks] = rounds[round];
      std::size_t longest = 0;
      for (int block = skip; block < std::min(skip + blocks, partial); ++block)
        longest = std::max(longest, segments_.count((rank + block) % ranks_));
      messages += longest;
    }
    return messages;
  }

 private:
  const Columns& columns_;
  const int ranks_;
  const Blocks segments_;
};

Cost cost_of_rank(const Columns& columns, const Messages& messages, int rank) {
  Cost cost{.messages = messages.of(rank),
            .count_sent = columns.blocks().length() - columns.length(rank)};
  for (const Round& round : columns.rounds())
    cost.count_reduced += columns.blocks().length_around(rank, round.blocks);
  return cost;
}

}  // namespace

Plan plan_circulant(const PlanRequest& request) { return Circulant(request).plan(); }

Cost cost_of_circulant(const PlanRequest& request) {
  const Columns columns(request);
  if (columns.blocks().length() == 0) return {};
  const Messages messages(columns, request.ranks);
  Cost most{.rounds = longest_chain(columns, request.ranks),
            .count_between_hosts = between_hosts(columns, request)};
  // Equal blocks cost each rank alike, except for the end of the array. The blocks that rank 1
  // sends wrap around it if those of any rank do.
  const int first = has_counts(request.kind) ? 0 : 1;
  const int last = has_counts(request.kind) ? request.ranks - 1 : 1;
  for (int rank = first; rank <= last; ++rank) most.raise_to(cost_of_rank(columns, messages, rank));
  return most;
}

}  // namespace paceline
