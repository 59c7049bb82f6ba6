#include "collectives/backend/shm/memory.h"

#include <algorithm>
#include <cstring>

#include "collectives/reduce.h"

namespace paceline::shm {
namespace {

std::size_t elements_per_chunk(std::size_t element_bytes, std::size_t chunk_bytes) {
  return chunk_bytes / element_bytes;
}

}  // namespace

std::uint64_t chunks_of(std::size_t bytes, std::size_t element_bytes, std::size_t chunk_bytes) {
  const std::size_t whole = elements_per_chunk(element_bytes, chunk_bytes) * element_bytes;
  return (bytes + whole - 1) / whole;
}

void Memory::begin(const OperationRequest& request, bool everybody, bool is_inline,
                   std::uint64_t first_chunk) {
  request_ = request;
  element_bytes_ = size_of(request.signature.type);
  const bool contributes = everybody || request.signature.root == rank_;
  inline_bytes_ = is_inline ? bytes(request.signature.count) : 0;
  chunk_count_ = elements_per_chunk(element_bytes_, layout_.chunk_bytes());
  first_chunk_ = first_chunk;
  has_taken_ = !everybody && contributes;
}

// Line by line, each with its own flag: whoever reads the first may find the others there.
void Memory::publish(std::uint64_t operation, std::uint64_t flag) {
  Call& call = layout_.call(rank_, operation);
  call.signature = request_.signature;
  std::size_t written = 0;
  std::size_t line = 0;
  do {
    const std::size_t length = std::min(inline_bytes_ - written, Line::kDataBytes);
    if (length > 0) std::memcpy(call.lines[line].data, request_.input + written, length);
    call.lines[line].flag.store(flag, std::memory_order_release);
    written += length;
    ++line;
  } while (written < inline_bytes_);
  ring();
}

// The sum is taken in the order of the ranks, so all ranks get the same bits.
bool Memory::take(int rank, std::uint64_t operation, std::uint64_t flag) {
  if (inline_bytes_ == 0) return true;
  const Call& call = layout_.call(rank, operation);
  const std::size_t lines = (inline_bytes_ + Line::kDataBytes - 1) / Line::kDataBytes;
  for (std::size_t i = 0; i < lines; ++i) {
    if (call.lines[i].flag.load(std::memory_order_acquire) != flag) return false;
    std::memcpy(taken_.data() + i * Line::kDataBytes, call.lines[i].data, Line::kDataBytes);
  }
  const Signature& signature = request_.signature;
  if (has_taken_) {
    paceline::reduce(signature.type, signature.op, request_.output, request_.output, taken_.data(),
                     signature.count);
  } else {
    std::memcpy(request_.output, taken_.data(), inline_bytes_);
  }
  has_taken_ = true;
  return true;
}

void Memory::stage(std::uint64_t chunk) {
  const Range range = chunk_range(chunk);
  const std::byte* const input = request_.input + bytes(range.begin);
  std::byte* const staged = layout_.staged(rank_, chunk);
  if (request_.signature.kind == OperationKind::kBroadcast) {
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
  const Signature& signature = request_.signature;
  const auto input_of = [&](int rank) {
    const std::byte* whole =
        rank == rank_ ? request_.input + bytes(range.begin) : layout_.staged(rank, chunk);
    return whole + bytes(own.begin);
  };
  // Into the result first: in place, the output is still an input.
  std::byte* const result = layout_.result(rank_, chunk);
  const std::byte* left = input_of(0);
  for (int rank = 1; rank < layout_.ranks(); ++rank) {
    paceline::reduce(signature.type, signature.op, result, left, input_of(rank), own.size());
    left = result;
  }
  std::memcpy(request_.output + bytes(range.begin + own.begin), result, bytes(own.size()));
}

void Memory::drain(std::uint64_t chunk) {
  const Range range = chunk_range(chunk);
  std::byte* const output = request_.output + bytes(range.begin);
  for (int rank = 0; rank < layout_.ranks(); ++rank) {
    if (rank == rank_) continue;
    const Range theirs = part(range, rank);
    std::memcpy(output + bytes(theirs.begin), layout_.result(rank, chunk), bytes(theirs.size()));
  }
}

void Memory::drain_staged(int root, std::uint64_t chunk) {
  const Range range = chunk_range(chunk);
  std::memcpy(request_.output + bytes(range.begin), layout_.staged(root, chunk),
              bytes(range.size()));
}

Memory::Range Memory::chunk_range(std::uint64_t chunk) const {
  const std::size_t begin = (chunk - first_chunk_) * chunk_count_;
  return {begin,
          std::min(begin + chunk_count_, static_cast<std::size_t>(request_.signature.count))};
}

// Of the chunk, in whole pairs of lines, so that no line is written by two ranks.
Memory::Range Memory::part(const Range& chunk, int rank) const {
  const auto ranks = static_cast<std::size_t>(layout_.ranks());
  const std::size_t grain = kPairBytes / element_bytes_;
  const std::size_t share = ((chunk.size() + ranks - 1) / ranks + grain - 1) / grain * grain;
  const std::size_t begin = std::min(share * static_cast<std::size_t>(rank), chunk.size());
  return {begin, std::min(begin + share, chunk.size())};
}

void Memory::ring() {
  for (int rank = 0; rank < layout_.ranks(); ++rank) {
    if (rank == rank_) continue;
    Doorbell& bell = *bells_[static_cast<std::size_t>(rank)];
    registered_ ? bell.ring_registered() : bell.ring();
  }
}

}  // namespace paceline::shm
