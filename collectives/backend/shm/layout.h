// How the direct shared-memory backend divides its part of a segment among the ranks.
//
// Every flag and every byte has a single writer; only in a gathering all count their arrival, and
// whoever comes last writes the result. First what all look at, of all ranks
// together: a rank that shares its CPU finds few pages of it in the processor's tables when its
// turn comes.
//
//   calls       a ring of the last operations: a flag, and what is contributed if that is tiny, or
//               where it lies if that is long
//   counters    how far it is: read by those who want to write into what it reads from
//   signatures  of those calls, for those whose flag is another: written where somebody may want
//               them. Apart from the flags: who reads a line gets its neighbour, too
//   CPUs        where each rank was when it last waited for an exchange
//   gatherings  a ring: how many have arrived at an exchange, and its result
//
// Then an area for each rank:
//
//   posts       two rings: what it contributes to an operation if that is short
//   staged      a ring of chunks: its input, of a long operation, for others to read
//   results     a ring of its parts of those chunks, reduced
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/base/signature.h"

namespace paceline::shm {

inline constexpr std::size_t kLineBytes = 64;
/// Two lines, which some processors fetch together.
inline constexpr std::size_t kPairBytes = 128;

/// Data and the flag that says whose they are, in one cache line, so that one transfer brings both.
struct alignas(kLineBytes) Line {
  static constexpr std::size_t kDataBytes = 56;
  std::byte data[kDataBytes];
  std::atomic<std::uint64_t> flag;
};

/// How many operations a rank can be ahead of one that has not read its contribution.
inline constexpr std::uint64_t kCalls = 4;
/// The same of operations to which everybody contributes: who begins one knows that the one before
/// has begun everywhere. Their posts have a short ring of their own, which stays in a cache.
inline constexpr std::uint64_t kExchanges = 2;
/// How many chunks of an operation are in flight.
inline constexpr std::uint64_t kChunks = 4;

struct alignas(kPairBytes) Call {
  Line line;
};

/// `number` is that of the operation that it is of, plus one, once it is there.
struct alignas(kPairBytes) CallSignature {
  Signature signature;
  std::atomic<std::uint64_t> number;
};

/// What a rank tells about its progress; but for the last two each only grows. Chunks are counted
/// through all operations of the communicator.
enum class Counter : std::size_t {
  kDone,      ///< operations that it has ended
  kFilled,    ///< chunks that it has staged
  kReduced,   ///< chunks of which it needs nobody's staged bytes any more
  kDrained,   ///< chunks of which it needs nobody's result any more
  kTouching,  ///< the operation, plus one, in which it is touching others' buffers; 0: in none
  kRevoked,   ///< 1 where nobody may begin to touch its buffers any more
};
inline constexpr std::size_t kCounters = 6;

/// Where a rank's arrays of a long operation lie in its arena (comm/memory_domain.h).
struct Offer {
  static constexpr std::uint64_t kNone = UINT64_MAX;
  static constexpr std::uint64_t kPosted = UINT64_MAX - 1;  ///< of an input: it lies in a post
  std::uint64_t input = kNone;
  std::uint64_t output = kNone;
};
static_assert(sizeof(Offer) <= Line::kDataBytes);

struct alignas(kPairBytes) Count {
  std::atomic<std::uint64_t> value;
};

/// Where the ranks of an exchange arrive. The result lies in its line, or in a post of its own.
/// Arrivals are of all exchanges at this place.
struct alignas(kPairBytes) Gathering {
  std::atomic<std::uint64_t> arrivals;
  alignas(kPairBytes) Line result;
};

/// The memory is zero when it is new.
class Layout {
 public:
  /// Chunks are of at most `chunk_bytes`, a multiple of kPairBytes.
  Layout(std::byte* memory, int ranks, std::size_t chunk_bytes)
      : memory_(memory),
        ranks_(ranks),
        row_bytes_(static_cast<std::size_t>(ranks) * kPairBytes),
        chunk_bytes_(chunk_bytes),
        part_bytes_(part_bytes(ranks, chunk_bytes)),
        staged_offset_(kPosts * post_stride(chunk_bytes)),
        area_bytes_(area_bytes(ranks, chunk_bytes)) {}

  static std::size_t bytes_for(int ranks, std::size_t chunk_bytes) {
    return static_cast<std::size_t>(ranks) * (kHeadBytes + area_bytes(ranks, chunk_bytes)) +
           kGatheringBytes + kExchanges * post_stride(chunk_bytes);
  }
  /// The longest chunks, up to `most`, with which the areas fit into `bytes`; 0 if none do.
  static std::size_t chunk_bytes_for(int ranks, std::size_t bytes, std::size_t most) {
    std::size_t chunk = most;
    while (chunk >= kLeastChunkBytes && bytes_for(ranks, chunk) > bytes) chunk /= 2;
    return chunk >= kLeastChunkBytes ? chunk : 0;
  }

  int ranks() const { return ranks_; }
  std::size_t chunk_bytes() const { return chunk_bytes_; }
  /// The longest contribution that goes in one piece.
  std::size_t post_bytes() const { return post_bytes(chunk_bytes_); }
  /// Of a rank's share of a chunk.
  std::size_t part_bytes() const { return part_bytes_; }

  Call& call(int rank, std::uint64_t operation) const {
    return *reinterpret_cast<Call*>(memory_ + head_at(operation % kCalls, rank));
  }
  CallSignature& signature(int rank, std::uint64_t operation) const {
    const std::size_t row = kCalls + kCounters + operation % kCalls;
    return *reinterpret_cast<CallSignature*>(memory_ + head_at(row, rank));
  }
  std::atomic<std::uint64_t>& counter(int rank, Counter which) const {
    return reinterpret_cast<Count*>(memory_ +
                                    head_at(kCalls + static_cast<std::size_t>(which), rank))
        ->value;
  }
  /// The number of the CPU on which a rank was when it last waited for an exchange, plus one.
  std::atomic<std::uint64_t>& cpu(int rank) const {
    return reinterpret_cast<Count*>(memory_ + head_at(kRows - 1, rank))->value;
  }
  Gathering& gathering(std::uint64_t operation) const {
    return reinterpret_cast<Gathering*>(memory_ + head_at(kRows, 0))[operation % kExchanges];
  }
  std::byte* gathered_post(std::uint64_t operation) const {
    return area(ranks_) + operation % kExchanges * post_stride(chunk_bytes_);
  }
  std::byte* post(int rank, std::uint64_t operation, bool everybody) const {
    const std::uint64_t place = everybody ? kCalls + operation % kExchanges : operation % kCalls;
    return area(rank) + place * post_stride(chunk_bytes_);
  }
  /// All that hold what a rank contributes where everybody does, one behind the other.
  std::span<const std::byte> exchange_posts(int rank) const {
    return {post(rank, 0, true), kExchanges * post_stride(chunk_bytes_)};
  }
  std::byte* staged(int rank, std::uint64_t chunk) const {
    return area(rank) + staged_offset_ + chunk % kChunks * chunk_bytes_;
  }
  std::byte* result(int rank, std::uint64_t chunk) const {
    return staged(rank, 0) + kChunks * chunk_bytes_ + chunk % kChunks * part_bytes_;
  }

 private:
  static constexpr std::size_t kLeastChunkBytes = 4096;
  static constexpr std::size_t kPosts = kCalls + kExchanges;
  static constexpr std::size_t kMostPostBytes = std::size_t{32} << 10;
  static constexpr std::size_t kRows = 2 * kCalls + kCounters + 1;
  static constexpr std::size_t kHeadBytes = kRows * kPairBytes;
  static constexpr std::size_t kGatheringBytes = kExchanges * sizeof(Gathering);

  static std::size_t post_bytes(std::size_t chunk_bytes) {
    return std::min(chunk_bytes, kMostPostBytes);
  }
  // Not a multiple of 4 KiB: the beginnings of posts would compete for the same sets of a cache.
  static std::size_t post_stride(std::size_t chunk_bytes) {
    return post_bytes(chunk_bytes) + 10 * kPairBytes;
  }
  static std::size_t part_bytes(int ranks, std::size_t chunk_bytes) {
    const auto count = static_cast<std::size_t>(ranks);
    return ((chunk_bytes + count - 1) / count + kPairBytes - 1) / kPairBytes * kPairBytes;
  }
  static std::size_t area_bytes(int ranks, std::size_t chunk_bytes) {
    return kPosts * post_stride(chunk_bytes) +
           kChunks * (chunk_bytes + part_bytes(ranks, chunk_bytes));
  }
  // Row by row, and in each a call or counter of every rank.
  std::size_t head_at(std::size_t row, int rank) const {
    return row * row_bytes_ + static_cast<std::size_t>(rank) * kPairBytes;
  }
  std::byte* area(int rank) const {
    return memory_ + kRows * row_bytes_ + kGatheringBytes +
           static_cast<std::size_t>(rank) * area_bytes_;
  }

  std::byte* memory_;
  int ranks_;
  std::size_t row_bytes_;
  std::size_t chunk_bytes_;
  std::size_t part_bytes_;
  std::size_t staged_offset_;
  std::size_t area_bytes_;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(Line) == kLineBytes);
static_assert(sizeof(Call) == kPairBytes && sizeof(CallSignature) == kPairBytes &&
              sizeof(Count) == kPairBytes);

}  // namespace paceline::shm
