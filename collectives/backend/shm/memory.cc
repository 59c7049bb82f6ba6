#include "collectives/backend/shm/memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "comm/base/long_copy.h"

namespace paceline::shm {
namespace {

// Between two looks at whether others have given up.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
// Where arrays do not stay in the caches, what is in flight should beside them. 2 ranks on 2 CPUs,
// in turn with chunks of 512 KiB, which are 0 to 15 % quicker up to 8 MiB: 16 MiB 0.73 and 0.89 of
// the time, 32 MiB 0.81 and 0.83, 64 MiB 0.90 and 0.95.
constexpr std::size_t kStreamedChunkBytes = std::size_t{128} << 10;
// Of all ranks' arrays together: stays in a cache until it is written a second time. 2 ranks, in
// turn with a quarter of it: 0 to 1 % less time up to 4 MiB, 4 to 5 % beyond.
constexpr std::size_t kBlocksBytes = std::size_t{128} << 10;
// Of a result that is written past the caches: so short that operands of the next are on their way
// meanwhile. 2 ranks, out of place, in turn with 64 KiB and nothing fetched ahead: 32 MiB 0.75 to
// 0.79 of the time, 256 MiB 0.75 to 0.80; 4 ranks, 32 MiB, 0.77 to 0.95.
constexpr std::size_t kStreamedBlockBytes = 512;
// How far ahead, by up to so many ranks: the hardware itself fetches no further than a page. With 8
// ranks it took 1.05 times as long.
constexpr std::size_t kFetchedAheadBytes = 2048;
constexpr std::size_t kMostFetchedAhead = 4;

// Reads a byte of each page: otherwise the process stops at it later, once, for whoever keeps its
// tables of pages. No program's read, since others may be writing there.
void touch_pages(std::span<const std::byte> memory) {
  const auto touch = [](const std::byte& byte) {
    asm volatile("testb $0, %0" : : "m"(byte) : "cc");
  };
  for (std::size_t at = 0; at < memory.size(); at += MemoryDomain::kPage) touch(memory[at]);
  touch(memory.back());
}

}  // namespace

// The last to arrive reads the posts of all, now this rank and now that one: until each had met all
// pages of all, 32 ranks on 2 CPUs of a virtual machine took 580 us for 256 B, not 180. What the
// kernel fills in by itself (MADV_POPULATE_READ) was not enough there.
void Memory::touch_posts() const {
  for (int rank = 0; rank < layout_.ranks(); ++rank) touch_pages(layout_.exchange_posts(rank));
}

// Up to `most_short` it depends on where the arrays lie, which the ranks know once they have met:
// whether they meet with short contributions, or as for a long operation, they guess.
std::uint64_t Memory::begin_longer(const MethodChoice& choice, std::uint64_t first_chunk) {
  const bool is_uncertain = short_bytes_ <= choice.most_short.bytes;
  is_guessed_ = is_uncertain && habit_.expects(request_->signature.kind);
  if (!is_uncertain || is_guessed_) {
    if (arenas_.own != nullptr && short_bytes_ > choice.most_staged) offer_buffers();
    return begin_chunks(first_chunk);
  }
  says_buffers_ = true;
  in_buffers_ = lies_in_buffers();
  return 0;
}

bool Memory::lies_in_buffers() const {
  const MemoryDomain& own = *arenas_.own;
  return (!is_read() || own.place_of(request_->input, input_bytes())) &&
         (!is_written() || own.place_of(request_->output, block_bytes()));
}

void Memory::note_habit_of_all(std::uint64_t operation) {
  for (int rank = 0; rank < layout_.ranks(); ++rank)
    in_buffers_ =
        in_buffers_ && (rank == rank_ || says_in_buffers(layout_.call(rank, operation).line));
  note_habit(in_buffers_);
}

// Of a chunk each block has the same share.
std::uint64_t Memory::begin_chunks(std::uint64_t first_chunk) {
  short_bytes_ = 0;
  const std::size_t blocks = blocks_of(request_->signature.kind, layout_.ranks());
  const std::size_t most = is_streamed() ? kStreamedChunkBytes : layout_.chunk_bytes();
  std::size_t share = std::min(most, layout_.chunk_bytes()) / blocks;
  if (share > kPairBytes) share = share / kPairBytes * kPairBytes;
  chunk_count_ = share / element_bytes_;
  first_chunk_ = first_chunk;
  return (request_->signature.count + chunk_count_ - 1) / chunk_count_;
}

// Whoever reads it finds no arrays where these lie in no buffers.
void Memory::offer_buffers() {
  offers_ = true;
  offer_ = {};
  if (is_read()) offer_.input = retain(request_->input, input_bytes());
  if (is_written()) offer_.output = retain(request_->output, block_bytes());
}

// Do others read this rank's input, or write its output?
bool Memory::is_read() const {
  return !is_of_kind(OperationKind::kBroadcast) || request_->signature.root == rank_;
}
bool Memory::is_written() const { return is_of_kind(OperationKind::kAllReduce) || !is_read(); }
std::size_t Memory::input_bytes() const {
  return blocks_of(request_->signature.kind, layout_.ranks()) * block_bytes();
}

// Are its arrays so long that they are written past the caches?
bool Memory::is_streamed() const { return longest_bytes() >= kStreamedBytes; }
std::size_t Memory::longest_bytes() const { return std::max(input_bytes(), block_bytes()); }

std::uint64_t Memory::retain(const void* begin, std::size_t bytes) {
  const auto place = arenas_.own->place_of(begin, bytes);
  return place && arenas_.own->retain(*place) ? *place : Offer::kNone;
}

void Memory::take_back() {
  offers_ = false;
  for (const std::uint64_t place : {offer_.input, offer_.output})
    if (place != Offer::kNone) arenas_.own->release(place);
}

Status Memory::leave_buffers() {
  if (!offers_) return {};
  Status left;
  if (offer_.input != Offer::kNone) left = arenas_.own->leave_behind(offer_.input, input_bytes());
  if (left.ok() && offer_.output != Offer::kNone && offer_.output != offer_.input)
    left = arenas_.own->leave_behind(offer_.output, block_bytes());
  return left;
}

Offer Memory::offer_of(int rank, std::uint64_t operation) const {
  Offer offer;
  std::memcpy(&offer, layout_.call(rank, operation).line.data, sizeof offer);
  return offer;
}

// Where a rank's arrays are; false where they lie in no buffers.
bool Memory::look_up(int rank, std::uint64_t operation, bool reads, bool writes) {
  const auto place = static_cast<std::size_t>(rank);
  if (rank == rank_) {
    inputs_[place] = request_->input;
    outputs_[place] = request_->output;
    return (!reads || offer_.input != Offer::kNone) && (!writes || offer_.output != Offer::kNone);
  }
  const Offer theirs = offer_of(rank, operation);
  const ArenaView& view = *arenas_.views[place];
  if (reads) {
    if (!view.has(theirs.input, input_bytes())) return false;
    inputs_[place] = view.at(theirs.input);
  }
  if (writes) {
    if (!view.has(theirs.output, block_bytes())) return false;
    outputs_[place] = view.at(theirs.output);
  }
  return true;
}

std::optional<std::uint64_t> Memory::begin_direct(std::uint64_t operation, const Form& form) {
  is_direct_ = false;
  if (!offers_) return {};
  piece_count_ = kPieceBytes / element_bytes_;
  is_direct_ = is_of_kind(OperationKind::kBroadcast) ? look_up_broadcast(operation, form.everybody)
                                                     : look_up_all(operation, form.claimed);
  if (is_guessed_) note_habit(is_direct_);
  if (!is_direct_) return {};
  return (pieces_.size() + piece_count_ - 1) / piece_count_;
}

bool Memory::look_up_all(std::uint64_t operation, bool claimed) {
  const bool is_shared = is_of_kind(OperationKind::kAllReduce);
  for (int rank = 0; rank < layout_.ranks(); ++rank)
    if (!look_up(rank, operation, true, is_shared)) return false;
  const Range all{0, static_cast<std::size_t>(request_->signature.count)};
  pieces_ = is_shared && !claimed ? part(all, rank_) : all;
  if (!is_shared) piece_count_ /= inputs_.size();
  if (claimed) piece_count_ = claimed_piece_bytes() / element_bytes_;
  return true;
}

// Of one rank's array: enough of them that those who claim end together, and each so long that to
// claim it is little beside making it.
std::size_t Memory::claimed_piece_bytes() const {
  constexpr std::size_t kPieces = 16;
  const std::size_t ranks = inputs_.size();
  const std::size_t bytes =
      std::clamp(block_bytes() / kPieces, kBlocksBytes / ranks, kPieceBytes / ranks);
  return bytes / kPairBytes * kPairBytes;
}

// Whoever is not the root reads; what is the root's part of it, the root writes, where it can.
bool Memory::look_up_broadcast(std::uint64_t operation, bool everybody) {
  const int root = request_->signature.root;
  if (!look_up(root, operation, true, false)) return false;
  const Range all{0, static_cast<std::size_t>(request_->signature.count)};
  const Range of_root = part(all, 0);
  if (rank_ != root) {
    const bool helped = everybody && offer_.output != Offer::kNone;
    pieces_ = {helped ? of_root.end : 0, all.end};
    return true;
  }
  pieces_ = everybody ? of_root : Range{0, 0};
  for (int rank = 0; rank < layout_.ranks() && everybody; ++rank) {
    outputs_[static_cast<std::size_t>(rank)] = nullptr;
    if (rank != root) look_up(rank, operation, false, true);
  }
  return true;
}

void Memory::make_piece(std::uint64_t piece) {
  const std::size_t begin = pieces_.begin + piece * piece_count_;
  const Range range{begin, std::min(pieces_.end, begin + piece_count_)};
  switch (request_->signature.kind) {
    case OperationKind::kAllReduce:
      return reduce_for_all(range);
    case OperationKind::kBroadcast:
      return send_or_fetch(range);
    default:
      for (std::size_t rank = 0; rank < inputs_.size(); ++rank)
        operands_[rank] = inputs_[rank] + own_in_input() + bytes(begin);
      return take_own(range);
  }
}

// In the order of the ranks, so that the bits are the same whoever makes them. What goes to others
// is still in a cache.
void Memory::reduce_for_all(const Range& range) {
  // Lines of outputs that are apart from the inputs have not been read.
  if (is_streamed() && request_->input != request_->output) return stream_for_all(range);
  const std::size_t block = kBlocksBytes / inputs_.size() / element_bytes_;
  std::byte* const output = outputs_[static_cast<std::size_t>(rank_)];
  for (std::size_t at = range.begin; at < range.end; at += block) {
    const std::size_t count = std::min(block, range.end - at);
    for (std::size_t rank = 0; rank < inputs_.size(); ++rank)
      operands_[rank] = inputs_[rank] + bytes(at);
    reduce_all(output + bytes(at), count);
    for (std::byte* const target : outputs_)
      if (target != output) std::memcpy(target + bytes(at), output + bytes(at), bytes(count));
  }
}

void Memory::stream_for_all(const Range& range) {
  alignas(kPairBytes) std::array<std::byte, kStreamedBlockBytes> result;
  const std::size_t block = result.size() / element_bytes_;
  for (std::size_t at = range.begin; at < range.end; at += block) {
    const std::size_t count = std::min(block, range.end - at);
    if (inputs_.size() <= kMostFetchedAhead) fetch_ahead(bytes(at), bytes(range.end));
    for (std::size_t rank = 0; rank < inputs_.size(); ++rank)
      operands_[rank] = inputs_[rank] + bytes(at);
    reduce_all(result.data(), count);
    for (std::byte* const target : outputs_)
      stream_copy(target + bytes(at), result.data(), bytes(count));
  }
  stream_fence();
}

void Memory::fetch_ahead(std::size_t at, std::size_t end) const {
  const std::size_t first = at + kFetchedAheadBytes;
  const std::size_t last = std::min(first + kStreamedBlockBytes, end);
  for (const std::byte* const input : inputs_)
    for (std::size_t line = first; line < last; line += kLineBytes)
      __builtin_prefetch(input + line);
}

// What of a long operation is only moved. Of an all-reduce through chunks it would take 5 to 10 %
// more to write results so: their lines have just been read.
void Memory::move_long(std::byte* to, const void* from, std::size_t size) const {
  long_copy(to, from, size, longest_bytes());
}

void Memory::send_or_fetch(const Range& range) {
  const auto root = static_cast<std::size_t>(request_->signature.root);
  const std::byte* const input = inputs_[root] + bytes(range.begin);
  const auto copy_to = [&](std::byte* output) {
    move_long(output + bytes(range.begin), input, bytes(range.size()));
  };
  if (root != static_cast<std::size_t>(rank_)) return copy_to(request_->output);
  for (std::byte* const output : outputs_)
    if (output != nullptr) copy_to(output);
}

// Of a rank's input, where what is for this one begins.
std::size_t Memory::own_in_input() const {
  return is_of_kind(OperationKind::kAllGather) ? 0
                                               : block_bytes() * static_cast<std::size_t>(rank_);
}

// operands_: each rank's share of this one's result. In place its own is there already.
void Memory::take_own(const Range& range) {
  std::byte* target = request_->output + bytes(range.begin);
  if (is_of_kind(OperationKind::kReduceScatter)) return reduce_all(target, range.size());
  for (const void* const operand : operands_) {
    if (target != operand) move_long(target, operand, bytes(range.size()));
    target += block_bytes();
  }
}

// operands_: what all ranks have contributed.
void Memory::take_own_of_posts() {
  for (const void*& operand : operands_)
    operand = static_cast<const std::byte*>(operand) + own_in_input();
  take_own({0, static_cast<std::size_t>(request_->signature.count)});
}

void Memory::gather(std::uint64_t operation) {
  combine(operation);
  if (short_bytes_ > 0) std::memcpy(gathered(operation), request_->output, short_bytes_);
  if (says_buffers_) say_in_buffers(layout_.gathering(operation).result, in_buffers_);
}

void Memory::stage(std::uint64_t chunk) {
  const Range range = chunk_range(chunk);
  const std::byte* const input = request_->input + bytes(range.begin);
  std::byte* const staged = layout_.staged(rank_, chunk);
  if (!is_of_kind(OperationKind::kAllReduce)) return stage_blocks(range, staged);
  // Nobody asks for this rank's own part.
  const Range own = part(range, rank_);
  detail::copy_around(staged, input, bytes(range.size()), bytes(own.begin), bytes(own.end));
}

void Memory::reduce(std::uint64_t chunk) {
  const Range range = chunk_range(chunk);
  const Range own = part(range, rank_);
  if (own.size() == 0) return;
  for (int rank = 0; rank < layout_.ranks(); ++rank) {
    const std::byte* const whole =
        rank == rank_ ? request_->input + bytes(range.begin) : layout_.staged(rank, chunk);
    operands_[static_cast<std::size_t>(rank)] = whole + bytes(own.begin);
  }
  // Not the other way round: a copy takes over whole lines that others have read, a sum fetches
  // them before it writes them.
  std::byte* const output = request_->output + bytes(range.begin + own.begin);
  reduce_all(output, own.size());
  std::memcpy(layout_.result(rank_, chunk), output, bytes(own.size()));
}

void Memory::drain(std::uint64_t chunk) {
  const Range range = chunk_range(chunk);
  std::byte* const output = request_->output + bytes(range.begin);
  for (int rank = 0; rank < layout_.ranks(); ++rank) {
    if (rank == rank_) continue;
    const Range theirs = part(range, rank);
    std::memcpy(output + bytes(theirs.begin), layout_.result(rank, chunk), bytes(theirs.size()));
  }
}

// Where there is one for each rank, each has a place in the staging.
void Memory::stage_blocks(const Range& range, std::byte* staged) {
  const std::byte* block = request_->input + bytes(range.begin);
  const std::size_t blocks = blocks_of(request_->signature.kind, layout_.ranks());
  for (std::size_t i = 0; i < blocks; ++i) {
    const bool is_asked_for = blocks == 1 || i != static_cast<std::size_t>(rank_);
    if (is_asked_for) std::memcpy(staged + i * bytes(chunk_count_), block, bytes(range.size()));
    block += block_bytes();
  }
}

void Memory::take_staged(std::uint64_t chunk) {
  const Range range = chunk_range(chunk);
  const std::size_t own_in_staged = is_of_kind(OperationKind::kAllGather)
                                        ? 0
                                        : static_cast<std::size_t>(rank_) * bytes(chunk_count_);
  for (int rank = 0; rank < layout_.ranks(); ++rank) {
    operands_[static_cast<std::size_t>(rank)] =
        rank == rank_ ? request_->input + own_in_input() + bytes(range.begin)
                      : layout_.staged(rank, chunk) + own_in_staged;
  }
  take_own(range);
}

void Memory::drain_staged(int root, std::uint64_t chunk) {
  const Range range = chunk_range(chunk);
  move_long(request_->output + bytes(range.begin), layout_.staged(root, chunk),
            bytes(range.size()));
}

Memory::Range Memory::chunk_range(std::uint64_t chunk) const {
  const std::size_t begin = (chunk - first_chunk_) * chunk_count_;
  return {begin,
          std::min(begin + chunk_count_, static_cast<std::size_t>(request_->signature.count))};
}

// Of the chunk, in whole pairs of lines, so that no line is written by two ranks.
Memory::Range Memory::part(const Range& chunk, int rank) const {
  const auto ranks = static_cast<std::size_t>(layout_.ranks());
  const std::size_t grain = kPairBytes / element_bytes_;
  const std::size_t share = ((chunk.size() + ranks - 1) / ranks + grain - 1) / grain * grain;
  const std::size_t begin = std::min(share * static_cast<std::size_t>(rank), chunk.size());
  return {begin, std::min(begin + share, chunk.size())};
}

}  // namespace paceline::shm
