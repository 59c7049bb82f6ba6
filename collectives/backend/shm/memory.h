// What the flag protocol does to the shared segment and to the buffers of an operation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/backend.h"
#include "collectives/backend/shm/layout.h"
#include "comm/doorbell.h"

namespace paceline::shm {

/// The Memory of protocol.h, of one rank. Nothing here waits or decides.
class Memory {
 public:
  static constexpr std::uint64_t kCalls = shm::kCalls;
  static constexpr std::uint64_t kChunks = shm::kChunks;

  /// `bells` are the ranks' own, by rank; they and the layout's memory are borrowed. `registered`:
  /// Doorbell::register_process() has succeeded.
  Memory(const Layout& layout, int rank, std::vector<Doorbell*> bells, bool registered)
      : layout_(layout), rank_(rank), bells_(std::move(bells)), registered_(registered) {}

  /// The operation that the calls below are about, and the number of its first chunk.
  void begin(const OperationRequest& request, bool everybody, bool is_inline,
             std::uint64_t first_chunk);

  void publish(std::uint64_t operation, std::uint64_t flag);
  std::uint64_t flag(int rank, std::uint64_t operation) const {
    return layout_.call(rank, operation).lines[0].flag.load(std::memory_order_acquire);
  }
  bool take(int rank, std::uint64_t operation, std::uint64_t flag);

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
  void ring();

  const Layout layout_;
  const int rank_;
  const std::vector<Doorbell*> bells_;
  const bool registered_;

  OperationRequest request_;
  std::size_t element_bytes_ = 0;
  std::size_t inline_bytes_ = 0;  // of a contribution; 0 where chunks carry it, or nothing
  std::size_t chunk_count_ = 0;   // elements of a chunk
  std::uint64_t first_chunk_ = 0;
  bool has_taken_ = false;
  alignas(kLineBytes) std::array<std::byte, kInlineLines * Line::kDataBytes> taken_;
};

/// How many chunks carry `bytes`.
std::uint64_t chunks_of(std::size_t bytes, std::size_t element_bytes, std::size_t chunk_bytes);

}  // namespace paceline::shm
