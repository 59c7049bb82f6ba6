#include "collectives/backend/shm/memory.h"

#include <algorithm>
#include <cstring>

#include "collectives/reduce.h"

namespace paceline::shm {
namespace {

// In two pieces that may overlap.
template <std::size_t kPiece>
void copy_ends(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, kPiece);
  std::memcpy(to + bytes - kPiece, from + bytes - kPiece, kPiece);
}

// Of 1 to kDataBytes bytes, without a call.
void copy_line(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes >= 32) return copy_ends<32>(to, from, bytes);
  if (bytes >= 16) return copy_ends<16>(to, from, bytes);
  if (bytes >= 8) return copy_ends<8>(to, from, bytes);
  if (bytes >= 4) return copy_ends<4>(to, from, bytes);
  for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
}

std::size_t elements_per_chunk(std::size_t element_bytes, std::size_t chunk_bytes) {
  return chunk_bytes / element_bytes;
}

}  // namespace

std::uint64_t chunks_of(std::size_t bytes, std::size_t element_bytes, std::size_t chunk_bytes) {
  const std::size_t whole = elements_per_chunk(element_bytes, chunk_bytes) * element_bytes;
  return (bytes + whole - 1) / whole;
}

void Memory::begin(const OperationRequest& request, bool is_short, std::uint64_t first_chunk) {
  request_ = &request;
  element_bytes_ = size_of(request.signature.type);
  short_bytes_ = is_short ? bytes(request.signature.count) : 0;
  if (!is_short) chunk_count_ = elements_per_chunk(element_bytes_, layout_.chunk_bytes());
  first_chunk_ = first_chunk;
  reduction_ = reduction_of(request.signature.type, request.signature.op);
}

void Memory::publish(std::uint64_t operation, std::uint64_t flag, bool everybody) {
  Call& call = layout_.call(rank_, operation);
  call.signature = request_->signature;
  if (!fits_line()) {
    std::memcpy(layout_.post(rank_, operation, everybody), request_->input, short_bytes_);
  } else if (short_bytes_ > 0) {
    copy_line(call.line.data, request_->input, short_bytes_);
    if (rank_ > 1) copy_line(own_.data(), request_->input, short_bytes_);
  }
  call.line.flag.store(flag, std::memory_order_release);
  ring();
}

// This rank's own comes from where nobody else looks: a line that all read is on its way. In place,
// the input is gone once the first two have been added.
const std::byte* Memory::contribution(int rank, std::uint64_t operation, bool everybody) const {
  if (rank == rank_ && rank <= 1) return request_->input;
  if (!fits_line()) return layout_.post(rank, operation, everybody);
  return rank == rank_ ? own_.data() : layout_.call(rank, operation).line.data;
}

// The sum is taken in the order of the ranks, so all ranks get the same bits.
void Memory::take(int rank, std::uint64_t operation, bool everybody) {
  if (short_bytes_ == 0) return;
  const std::byte* const theirs = contribution(rank, operation, everybody);
  if (!everybody) {
    std::memcpy(request_->output, theirs, short_bytes_);
  } else if (rank == 0) {
    sum_ = theirs;
  } else {
    reduction_(request_->output, sum_, theirs, request_->signature.count);
    sum_ = request_->output;
  }
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
  const auto input_of = [&](int rank) {
    const std::byte* whole =
        rank == rank_ ? request_->input + bytes(range.begin) : layout_.staged(rank, chunk);
    return whole + bytes(own.begin);
  };
  // Into the result first: in place, the output is still an input.
  std::byte* const result = layout_.result(rank_, chunk);
  const std::byte* left = input_of(0);
  for (int rank = 1; rank < layout_.ranks(); ++rank) {
    reduction_(result, left, input_of(rank), own.size());
    left = result;
  }
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
