#include "collectives/staged_rounds.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "comm/base/random.h"

namespace paceline {
namespace {

// Arrays in the memory of a round begin on cache lines.
constexpr std::size_t kAlignment = 64;

std::size_t cache_aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// One array on each rank, and the result may take the place of the input.
bool is_of_one_array(OperationKind kind) {
  return kind == OperationKind::kBroadcast || kind == OperationKind::kReduce ||
         kind == OperationKind::kAllReduce;
}

// Do all ranks know the counts of all?
bool has_known_counts(OperationKind kind) {
  return has_counts(kind) && kind != OperationKind::kAllToAllV;
}

}  // namespace

void StagedRound::place(std::byte* memory) {
  request.input = has_input ? memory : nullptr;
  request.output = has_output ? memory + output_at : nullptr;
  request.counts = counts.empty() ? nullptr : counts.data();
  request.recv_counts = recv_counts.empty() ? nullptr : recv_counts.data();
  request.messages = messages;
  for (Message& message : messages) {
    // Until now they are offsets.
    if (message.is_sent) {
      message.in = memory + reinterpret_cast<std::uintptr_t>(message.in);
    } else {
      message.out = memory + reinterpret_cast<std::uintptr_t>(message.out);
    }
  }
}

StagedRounds::StagedRounds(const OperationRequest& request, int rank, int ranks,
                           std::size_t slot_bytes)
    : request_(request),
      rank_(rank),
      ranks_(ranks),
      element_bytes_(has_elements(request.signature.kind) ? size_of(request.signature.type) : 1) {
  set_sides();
  set_pieces();
  set_rounds(slot_bytes);
}

std::vector<StagedRounds::Block> StagedRounds::blocks_of(const std::size_t* counts) const {
  std::vector<Block> blocks;
  std::size_t begin = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::size_t count = counts != nullptr ? counts[rank] : request_.signature.count;
    blocks.push_back({begin, count});
    begin += count;
  }
  return blocks;
}

// Its buffer begins with it.
StagedRounds::Block StagedRounds::own_block() const {
  const bool is_uneven = request_.counts != nullptr;
  return {0, is_uneven ? request_.counts[rank_] : request_.signature.count};
}

void StagedRounds::set_sides() {
  const OperationKind kind = request_.signature.kind;
  const bool is_root = rank_ == request_.signature.root;
  const auto all = [&] { return blocks_of(request_.counts); };
  const std::vector<Block> own{own_block()};
  switch (kind) {
    case OperationKind::kBarrier:
    case OperationKind::kClose:
    case OperationKind::kExchange:
      break;
    case OperationKind::kSend:
      input_.blocks = own;
      break;
    case OperationKind::kReceive:
      output_.blocks = own;
      break;
    case OperationKind::kBroadcast:
      if (is_root) input_.blocks = own;
      if (!is_root || request_.input != request_.output) output_.blocks = own;
      break;
    case OperationKind::kReduce:
      input_.blocks = own;
      if (is_root) output_.blocks = own;
      break;
    case OperationKind::kAllReduce:
      input_.blocks = output_.blocks = own;
      break;
    case OperationKind::kReduceScatter:
    case OperationKind::kReduceScatterV:
      input_.blocks = all();
      output_.blocks = own;
      break;
    case OperationKind::kAllGather:
    case OperationKind::kAllGatherV:
      input_.blocks = own;
      output_.blocks = all();
      break;
    case OperationKind::kGather:
    case OperationKind::kGatherV:
      input_.blocks = own;
      if (is_root) output_.blocks = all();
      break;
    case OperationKind::kScatter:
    case OperationKind::kScatterV:
      if (is_root) input_.blocks = all();
      output_.blocks = own;
      break;
    case OperationKind::kAllToAll:
    case OperationKind::kAllToAllV:
      input_.blocks = all();
      output_.blocks =
          blocks_of(kind == OperationKind::kAllToAllV ? request_.recv_counts : request_.counts);
      break;
  }
  is_in_place_ = is_of_one_array(kind);
}

void StagedRounds::set_pieces() {
  input_.pieces = {{request_.input, SIZE_MAX}};
  output_.pieces = {{request_.output, SIZE_MAX}};
  if (request_.tensors.empty()) return;
  // The tensors as one array.
  input_.pieces.clear();
  output_.pieces.clear();
  for (const Tensor& tensor : request_.tensors) {
    input_.pieces.push_back({static_cast<const std::byte*>(tensor.in), tensor.count});
    output_.pieces.push_back({static_cast<const std::byte*>(tensor.out), tensor.count});
  }
}

// Decided by arguments that all ranks pass alike.
void StagedRounds::set_rounds(std::size_t slot_bytes) {
  const OperationKind kind = request_.signature.kind;
  std::size_t longest = request_.signature.count;
  if (has_known_counts(kind))
    longest = *std::max_element(request_.counts, request_.counts + ranks_);
  if (!is_collective(kind) || !has_elements(kind) || kind == OperationKind::kAllToAllV) {
    part_ = SIZE_MAX;
    return;
  }
  // Each array may begin with a gap.
  const std::size_t room = slot_bytes > 2 * kAlignment ? slot_bytes - 2 * kAlignment : 1;
  part_ = std::clamp<std::size_t>(part_that_fits(room / element_bytes_), 1,
                                  std::max<std::size_t>(longest, 1));
  rounds_ = std::max<std::size_t>((longest + part_ - 1) / part_, 1);
}

// The longest part of each block with which all blocks, and the own one beside them, have room.
std::size_t StagedRounds::part_that_fits(std::size_t room) const {
  const OperationKind kind = request_.signature.kind;
  const auto ranks = static_cast<std::size_t>(ranks_);
  if (is_of_one_array(kind)) return room;
  if (kind == OperationKind::kAllToAll) return room / (2 * ranks);
  if (!has_known_counts(kind)) return room / (ranks + 1);
  const auto needed = [&](std::size_t part) {
    std::size_t all = part;
    for (int rank = 0; rank < ranks_; ++rank) all += std::min(request_.counts[rank], part);
    return all;
  };
  std::size_t fits = room / (ranks + 1);
  for (std::size_t beyond = room + 1; fits + 1 < beyond;) {
    const std::size_t middle = fits + (beyond - fits) / 2;
    (needed(middle) <= room ? fits : beyond) = middle;
  }
  return fits;
}

void StagedExtent::add(const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  begin = std::min(begin, address);
  end = std::max(end, address + bytes);
}

StagedExtent StagedRounds::extent_of(const Side& side, bool is_input) const {
  StagedExtent extent;
  for (const Message& message : request_.messages) {
    const void* const memory = is_input ? message.in : message.out;
    if (message.is_sent == is_input)
      extent.add(static_cast<const std::byte*>(memory), message.count * size_of(message.type));
  }
  std::size_t left = side.blocks.empty() ? 0 : side.blocks.back().begin + side.blocks.back().count;
  for (const Piece& piece : side.pieces) {
    const std::size_t count = std::min(left, piece.count);
    extent.add(piece.device, count * element_bytes_);
    left -= count;
  }
  return extent;
}

// Rounds of different calls must not be taken for each other.
std::uint32_t StagedRounds::digest_of(std::size_t round) const {
  if (rounds_ == 1) return request_.call_digest;
  std::uint64_t digest = Random(request_.call_digest ^ request_.signature.count).next();
  digest = Random(digest ^ rounds_).next();
  for (int rank = 0; has_known_counts(request_.signature.kind) && rank < ranks_; ++rank)
    digest = Random(digest ^ request_.counts[rank]).next();
  return static_cast<std::uint32_t>(Random(digest ^ round).next());
}

StagedRounds::Block StagedRounds::part_of(const Block& block, std::size_t round) const {
  const std::size_t before = std::min(rounds_ == 1 ? 0 : round * part_, block.count);
  return {block.begin + before, std::min(part_, block.count - before)};
}

// Adds the copies of this side's parts, one behind the other from `at` on. Returns their end.
std::size_t StagedRounds::add_copies(const Side& side, std::size_t round, std::size_t at,
                                     std::vector<StagedCopy>& copies) const {
  for (const Block& block : side.blocks) {
    Block left = part_of(block, round);
    std::size_t piece_begin = 0;
    for (const Piece& piece : side.pieces) {
      const std::size_t skipped = left.begin - piece_begin;
      if (left.count > 0 && skipped < piece.count) {
        const std::size_t count = std::min(left.count, piece.count - skipped);
        copies.push_back({piece.device + skipped * element_bytes_, at, count * element_bytes_});
        at += count * element_bytes_;
        left = {left.begin + count, left.count - count};
      }
      if (left.count == 0) break;
      piece_begin += piece.count;
    }
  }
  return at;
}

void StagedRounds::set_counts(StagedRound& made, std::size_t round) const {
  Signature& signature = made.request.signature;
  const OperationKind kind = signature.kind;
  const auto parts = [&](const std::size_t* counts) {
    std::vector<std::size_t> of_round;
    for (const Block& block : blocks_of(counts)) of_round.push_back(part_of(block, round).count);
    return of_round;
  };
  if (!has_counts(kind)) {
    if (has_elements(kind)) signature.count = part_of({0, signature.count}, round).count;
    return;
  }
  made.counts = parts(request_.counts);
  if (kind == OperationKind::kAllToAllV) {
    made.recv_counts = parts(request_.recv_counts);
  } else {
    signature.count = std::accumulate(made.counts.begin(), made.counts.end(), std::size_t{0});
  }
}

StagedRound StagedRounds::at(std::size_t round) const {
  if (request_.signature.kind == OperationKind::kExchange) return exchange();
  StagedRound made{.request = request_};
  made.request.tensors = {};
  made.request.call_digest = digest_of(round);
  set_counts(made, round);
  made.bytes = add_copies(input_, round, 0, made.down);
  made.output_at = is_in_place_ ? 0 : cache_aligned(made.bytes);
  made.bytes = std::max(made.bytes, add_copies(output_, round, made.output_at, made.up));
  made.has_input = input_.is_used();
  made.has_output = output_.is_used();
  if (request_.signature.kind == OperationKind::kBroadcast) made.has_input = made.has_output = true;
  return made;
}

StagedRound StagedRounds::exchange() const {
  StagedRound made{.request = request_};
  made.messages.assign(request_.messages.begin(), request_.messages.end());
  for (Message& message : made.messages) {
    const std::size_t bytes = message.count * size_of(message.type);
    const void* const device = message.is_sent ? message.in : message.out;
    if (bytes > 0)
      (message.is_sent ? made.down : made.up)
          .push_back({static_cast<const std::byte*>(device), made.bytes, bytes});
    message.in = message.is_sent ? reinterpret_cast<const void*>(made.bytes) : nullptr;
    message.out = message.is_sent ? nullptr : reinterpret_cast<void*>(made.bytes);
    made.bytes += cache_aligned(bytes);
  }
  return made;
}

}  // namespace paceline
