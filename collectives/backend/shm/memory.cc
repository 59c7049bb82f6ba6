#include "collectives/backend/shm/memory.h"

#include <algorithm>
#include <cstring>

namespace paceline::shm {
namespace {

// Between two looks at whether others have given up; and what lies in a first-level cache when it
// is written a second time.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kBlockBytes = std::size_t{16} << 10;

}  // namespace

std::uint64_t Memory::begin_chunks(std::uint64_t first_chunk) {
  const std::size_t whole = std::exchange(short_bytes_, 0);
  chunk_count_ = layout_.chunk_bytes() / element_bytes_;
  first_chunk_ = first_chunk;
  if (request_->signature.kind == OperationKind::kAllReduce) offer_buffers();
  const std::size_t most = bytes(chunk_count_);
  return (whole + most - 1) / most;
}

// Whoever reads it finds no arrays where there are none.
void Memory::offer_buffers() {
  offers_ = true;
  offer_ = {};
  if (arenas_.own == nullptr) return;
  const std::size_t whole = bytes(request_->signature.count);
  offer_.input = retain(request_->input, whole);
  offer_.output = retain(request_->output, whole);
}

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
  if (!offers_ || offer_.output == Offer::kNone) return {};
  return arenas_.own->leave_behind(offer_.output, bytes(request_->signature.count));
}

std::optional<std::uint64_t> Memory::begin_direct(std::uint64_t operation) {
  if (!offers_ || arenas_.own == nullptr) return {};
  const auto count = static_cast<std::size_t>(request_->signature.count);
  for (int rank = 0; rank < layout_.ranks(); ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    Offer theirs;
    std::memcpy(&theirs, layout_.call(rank, operation).line.data, sizeof theirs);
    const ArenaView& view = *arenas_.views[place];
    if (!view.has(theirs.input, bytes(count)) || !view.has(theirs.output, bytes(count))) return {};
    inputs_[place] = rank == rank_ ? request_->input : view.at(theirs.input);
    outputs_[place] = rank == rank_ ? request_->output : view.at(theirs.output);
  }
  const std::size_t own = bytes(part({0, count}, rank_).size());
  return (own + kPieceBytes - 1) / kPieceBytes;
}

// In the order of the ranks, so that the bits are the same whoever makes them.
void Memory::reduce_piece(std::uint64_t piece) {
  const Range own = part({0, static_cast<std::size_t>(request_->signature.count)}, rank_);
  const std::size_t block = kBlockBytes / element_bytes_;
  const std::size_t begin = own.begin + piece * (kPieceBytes / element_bytes_);
  const std::size_t end = std::min(own.end, begin + kPieceBytes / element_bytes_);
  std::byte* const output = outputs_[static_cast<std::size_t>(rank_)];
  for (std::size_t at = begin; at < end; at += block) {
    const std::size_t count = std::min(block, end - at);
    for (std::size_t rank = 0; rank < inputs_.size(); ++rank)
      operands_[rank] = inputs_[rank] + bytes(at);
    reduce_all(output + bytes(at), count);
    for (std::byte* const theirs : outputs_)
      if (theirs != output) std::memcpy(theirs + bytes(at), output + bytes(at), bytes(count));
  }
}

// In place this rank's own block is there already.
void Memory::move_blocks(std::uint64_t operation) {
  const std::size_t one = block_bytes();
  const bool is_all_to_all = request_->signature.kind == OperationKind::kAllToAll;
  const std::size_t begin = is_all_to_all ? one * static_cast<std::size_t>(rank_) : 0;
  for (int rank = 0; rank < layout_.ranks(); ++rank) {
    std::byte* const target = request_->output + one * static_cast<std::size_t>(rank);
    const std::byte* const source = contribution(rank, operation, true) + begin;
    if (target != source) std::memcpy(target, source, one);
  }
}

void Memory::gather(std::uint64_t operation) {
  combine(operation);
  if (short_bytes_ > 0) std::memcpy(gathered(operation), request_->output, short_bytes_);
}

void Memory::stage(std::uint64_t chunk) {
  const Range range = chunk_range(chunk);
  const std::byte* const input = request_->input + bytes(range.begin);
  std::byte* const staged = layout_.staged(rank_, chunk);
  if (request_->signature.kind == OperationKind::kBroadcast) {
    std::memcpy(staged, input, bytes(range.size()));
    return;
  }
  // Nobody asks for this rank's own part.
  const Range own = part(range, rank_);
  std::memcpy(staged, input, bytes(own.begin));
  std::memcpy(staged + bytes(own.end), input + bytes(own.end), bytes(range.size() - own.end));
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
  std::byte* const result = layout_.result(rank_, chunk);
  reduce_all(result, own.size());
  std::memcpy(request_->output + bytes(range.begin + own.begin), result, bytes(own.size()));
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

void Memory::drain_staged(int root, std::uint64_t chunk) {
  const Range range = chunk_range(chunk);
  std::memcpy(request_->output + bytes(range.begin), layout_.staged(root, chunk),
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
