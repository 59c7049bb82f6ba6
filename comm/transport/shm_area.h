// What the shared-memory transport of a group keeps in a segment: for each ordered pair of ranks a
// ring and what has become of loans (shm_loans.h).
//
//   loans 0→1 | loans 0→2 | … | loans 1→0 | loans 1→2 | … | ring 0→1 | ring 0→2 | … | ring 1→0 | …
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <paceline/status.h>

#include "comm/transport/byte_ring.h"
#include "comm/transport/split_copy.h"

namespace paceline {

/// A value: where things lie. The memory is borrowed, and zero before the first rank uses it.
class ShmArea {
 public:
  /// `ring_bytes` is a power of two, and the same on every rank.
  static std::size_t bytes_for(int ranks, std::size_t ring_bytes);
  /// Code::kInvalidArgument where that is not so, or `memory` is too small or not aligned to a
  /// cache line.
  static Result<ShmArea> over(std::span<std::byte> memory, int ranks, std::size_t ring_bytes);

  struct LoanLine {
    alignas(64) std::atomic<std::uint64_t> returned;  // how many; written by the receiver
    alignas(64) std::atomic<std::uint64_t> revoked;   // 1: for good; written by the sender
    SplitLines split;                                 // the receiver is the owner
  };

  ByteRing ring(int from, int to) const;
  LoanLine& loans(int from, int to) const;

 private:
  ShmArea(std::span<std::byte> memory, int ranks, std::size_t ring_bytes)
      : memory_(memory), ranks_(ranks), ring_bytes_(ring_bytes) {}
  std::size_t index_of(int from, int to) const;  // among the ordered pairs
  std::size_t rings_begin() const {
    return static_cast<std::size_t>(ranks_ * (ranks_ - 1)) * sizeof(LoanLine);
  }

  std::span<std::byte> memory_;
  int ranks_;
  std::size_t ring_bytes_;
};

}  // namespace paceline
