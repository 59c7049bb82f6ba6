// What of a Memory direct.h asks for: long operations between buffers.
#include <algorithm>
#include <array>
#include <cstring>

#include "collectives/backend/shm/memory.h"
#include "comm/base/long_copy.h"

namespace paceline::shm {
namespace {

// Between two looks at whether others have given up.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
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

}  // namespace

bool Memory::lies_in_buffers() const {
  const MemoryDomain& own = *arenas_.own;
  return (!is_read() || own.place_of(request_->input, input_bytes())) &&
         (!is_written() || own.place_of(request_->output, output_bytes()));
}

// Whoever reads it finds no arrays where these lie in no buffers.
void Memory::offer_buffers() {
  offers_ = true;
  offer_ = {};
  if (is_read()) offer_.input = retain(request_->input, input_bytes());
  if (is_written()) offer_.output = retain(request_->output, output_bytes());
}

// Do others read this rank's input, or write its output?
bool Memory::is_read() const {
  return !is_of_kind(OperationKind::kBroadcast) || request_->signature.root == rank_;
}
bool Memory::is_written() const {
  return is_of_kind(OperationKind::kBroadcast) ? !is_read() : for_all_;
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
  if (!offers_) return {};
  const auto [input, output] = offer_;
  Status left;
  if (output != Offer::kNone) left = arenas_.own->leave_behind(output, output_bytes());
  const bool is_apart =
      output == Offer::kNone || input < output || input - output >= output_bytes();
  if (left.ok() && input != Offer::kNone && is_apart)
    left = arenas_.own->leave_behind(input, input_bytes());
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
    if (!view.has(theirs.output, output_bytes())) return false;
    outputs_[place] = view.at(theirs.output);
  }
  return true;
}

std::optional<std::uint64_t> Memory::begin_direct(std::uint64_t operation, const Form& form) {
  if (!offers_) return {};
  piece_count_ = kPieceBytes / element_bytes_;
  for_all_ = form.for_all;
  if (!look_up_arrays(operation, form)) return {};
  method_of_long_ = Method::kZeroCopy;
  return (pieces_.size() + piece_count_ - 1) / piece_count_;
}

bool Memory::look_up_arrays(std::uint64_t operation, const Form& form) {
  if (form.for_all) return look_up_for_all(operation);
  return is_of_kind(OperationKind::kBroadcast) ? look_up_broadcast(operation, form.everybody)
                                               : look_up_for_own(operation);
}

// Each result is another, or each rank is the quickest to make its own.
bool Memory::look_up_for_own(std::uint64_t operation) {
  for (int rank = 0; rank < layout_.ranks(); ++rank)
    if (!look_up(rank, operation, true, false)) return false;
  pieces_ = {0, static_cast<std::size_t>(request_->signature.count)};
  piece_count_ /= inputs_.size();
  return true;
}

bool Memory::look_up_for_all(std::uint64_t operation) {
  const bool has_root = is_of_kind(OperationKind::kBroadcast);
  for (int rank = 0; rank < layout_.ranks(); ++rank) {
    const bool is_root = has_root && rank == request_->signature.root;
    if (!look_up(rank, operation, !has_root || is_root, !is_root)) return false;
    if (is_root) outputs_[static_cast<std::size_t>(rank)] = nullptr;
  }
  pieces_ = part({0, output_bytes() / element_bytes_}, rank_);
  if (!is_of_kind(OperationKind::kAllReduce)) piece_count_ /= inputs_.size();
  return true;
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
      return for_all_ ? copy_for_all(range) : send_or_fetch(range);
    default:
      if (for_all_) return copy_for_all(range);
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

// Of results that are alike: what they come from is read from memory once.
void Memory::copy_for_all(const Range& range) {
  const std::size_t count = request_->signature.count;
  std::size_t at = range.begin;
  while (at < range.end) {
    const std::size_t block = at / count;
    const std::size_t end = std::min(range.end, (block + 1) * count);
    const std::size_t source = is_of_kind(OperationKind::kBroadcast)
                                   ? static_cast<std::size_t>(request_->signature.root)
                                   : block;
    const std::byte* const input = inputs_[source] + bytes(at - block * count);
    for (std::byte* const output : outputs_)
      if (output != nullptr && output + bytes(at) != input)
        move_long(output + bytes(at), input, bytes(end - at));
    at = end;
  }
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

}  // namespace paceline::shm
