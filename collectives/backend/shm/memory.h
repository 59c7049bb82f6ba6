// What the flag protocol does to the shared segment and to the buffers of an operation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/backend.h"
#include "collectives/backend/shm/layout.h"
#include "collectives/reduce.h"
#include "comm/doorbell.h"

namespace paceline::shm {

/// The Memory of protocol.h, of one rank. Nothing here waits or decides.
class Memory {
 public:
  static constexpr std::uint64_t kCalls = shm::kCalls;
  static constexpr std::uint64_t kExchanges = shm::kExchanges;
  static constexpr std::uint64_t kChunks = shm::kChunks;

  /// `bells` are the ranks' own, by rank; they and the layout's memory are borrowed. `registered`:
  /// Doorbell::register_process() has succeeded.
  Memory(const Layout& layout, int rank, std::vector<Doorbell*> bells, bool registered)
      : layout_(layout), rank_(rank), others_bells_(std::move(bells)), registered_(registered) {
    others_bells_.erase(others_bells_.begin() + rank);
  }

  /// The operation that the calls below are about, borrowed, and the number of its first chunk.
  void begin(const OperationRequest& request, bool is_short, std::uint64_t first_chunk);

  void publish(std::uint64_t operation, std::uint64_t flag, bool everybody);
  std::uint64_t flag(int rank, std::uint64_t operation) const {
    return layout_.call(rank, operation).line.flag.load(std::memory_order_acquire);
  }
  void take(int rank, std::uint64_t operation, bool everybody);

  std::uint64_t counter(int rank, Counter which) const {
    return layout_.counter(rank, which).load(std::memory_order_acquire);
  }
  void advance(Counter which, std::uint64_t value) {
    layout_.counter(rank_, which).store(value, std::memory_order_release);
    ring();
  }

  void stage(std::uint64_t chunk);
  void reduce(std::uint64_t chunk);
  void drain(std::uint64_t chunk);
  void drain_staged(int root, std::uint64_t chunk);

  /// What `rank` has called, once its flag has been seen.
  const Signature& signature_of(int rank, std::uint64_t operation) const {
    return layout_.call(rank, operation).signature;
  }

 private:
  // Elements of the operation, or of its chunk.
  struct Range {
    std::size_t begin;
    std::size_t end;
    std::size_t size() const { return end - begin; }
  };
  Range chunk_range(std::uint64_t chunk) const;
  Range part(const Range& chunk, int rank) const;
  std::size_t bytes(std::size_t count) const { return count * element_bytes_; }
  bool fits_line() const { return short_bytes_ <= Line::kDataBytes; }
  const std::byte* contribution(int rank, std::uint64_t operation, bool everybody) const;
  void ring() {
    for (Doorbell* bell : others_bells_) registered_ ? bell->ring_registered() : bell->ring();
  }

  const Layout layout_;
  const int rank_;
  std::vector<Doorbell*> others_bells_;
  const bool registered_;

  const OperationRequest* request_ = nullptr;
  std::size_t element_bytes_ = 0;
  std::size_t short_bytes_ = 0;  // of a contribution; 0 where chunks carry it, or there is none
  std::size_t chunk_count_ = 0;  // elements of a chunk, where chunks carry it
  std::uint64_t first_chunk_ = 0;
  Reduction reduction_ = nullptr;
  const std::byte* sum_ = nullptr;  // of short contributions, so far
  alignas(kLineBytes) std::array<std::byte, Line::kDataBytes> own_;
};

/// How many chunks carry `bytes`.
std::uint64_t chunks_of(std::size_t bytes, std::size_t element_bytes, std::size_t chunk_bytes);

}  // namespace paceline::shm
