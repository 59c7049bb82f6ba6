#include "collectives/backend/shm/memory.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "comm/base/long_copy.h"

namespace paceline::shm {
namespace {

// Where arrays do not stay in the caches, what is in flight should beside them. 2 ranks on 2 CPUs,
// in turn with chunks of 512 KiB, which are 0 to 15 % quicker up to 8 MiB: 16 MiB 0.73 and 0.89 of
// the time, 32 MiB 0.81 and 0.83, 64 MiB 0.90 and 0.95.
constexpr std::size_t kStreamedChunkBytes = std::size_t{128} << 10;

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

std::uint64_t Memory::begin_long(const Way& way, std::uint64_t first_chunk) {
  short_bytes_ = 0;
  method_of_long_ = Method::kPipelined;
  may_post_ = way.posts();
  if (may_post_ && is_read() && !lies_in_buffers()) {
    posts_ = true;
    short_bytes_ = input_bytes();
    offer_ = {.input = Offer::kPosted};
  } else if (way.in_buffers == Method::kZeroCopy) {
    offer_buffers();
  }
  return count_chunks(first_chunk);
}

bool Memory::is_posted_by(int rank, std::uint64_t operation) const {
  return rank == rank_ ? posts_ : offer_of(rank, operation).input == Offer::kPosted;
}

// Has each rank that contributes something posted it? Then the result is made of that.
bool Memory::take_posts(std::uint64_t operation) {
  if (!may_post_) return false;
  const bool has_root = is_of_kind(OperationKind::kBroadcast);
  const int root = request_->signature.root;
  for (int rank = 0; rank < layout_.ranks(); ++rank)
    if ((!has_root || rank == root) && !is_posted_by(rank, operation)) return false;
  method_of_long_ = Method::kEager;
  if (!has_root) {
    combine(operation);
  } else if (rank_ != root) {
    std::memcpy(request_->output, layout_.post(root, operation, true), input_bytes());
  }
  return true;
}

// Of a chunk each block has the same share.
std::uint64_t Memory::count_chunks(std::uint64_t first_chunk) {
  const std::size_t blocks = blocks_of(request_->signature.kind, layout_.ranks());
  const std::size_t most = is_streamed() ? kStreamedChunkBytes : layout_.chunk_bytes();
  std::size_t share = std::min(most, layout_.chunk_bytes()) / blocks;
  if (share > kPairBytes) share = share / kPairBytes * kPairBytes;
  chunk_count_ = share / element_bytes_;
  first_chunk_ = first_chunk;
  return (request_->signature.count + chunk_count_ - 1) / chunk_count_;
}

// Are its arrays so long that they are written past the caches? Of an all-gather whose ranks share
// CPUs the results are, which ranks with a CPU each find in theirs: 16 MiB past the caches took 4
// ranks on 2 CPUs 0.88 of the time, 8 ranks 0.8, 2 ranks 1.5 times as long.
bool Memory::is_streamed() const { return longest_bytes() >= kStreamedBytes; }
std::size_t Memory::longest_bytes() const {
  return std::max(input_bytes(), for_all_ ? output_bytes() : block_bytes());
}

// What of a long operation is only moved. Of an all-reduce through chunks it would take 5 to 10 %
// more to write results so: their lines have just been read.
void Memory::move_long(std::byte* to, const void* from, std::size_t size) const {
  long_copy(to, from, size, longest_bytes());
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
