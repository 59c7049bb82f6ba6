// One array copied by two processes: each claims the next piece until none is left, so that the
// quicker one copies more, and one that does something else does not keep the other waiting.
//
// The owner of the target opens the copy; the helper looks for it while it waits. Of both lines,
// `left` is the number of the copy and how many pieces nobody has claimed, `written` the number and
// how many the helper has written. A claim is a compare-and-exchange with the number in it: one
// that comes late, after the owner has closed this copy or opened the next one, fails, and then
// nothing is written.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace paceline {

/// What lies in shared memory. Zero is a good initial state.
struct SplitLines {
  alignas(64) std::atomic<std::uint64_t> left;
  std::atomic<std::uint64_t> target;               // place in its owner's arena; by the owner
  alignas(64) std::atomic<std::uint64_t> written;  // by the helper
};

/// Which part of an array a piece is.
struct SplitPiece {
  std::size_t begin;
  std::size_t bytes;
};

/// The same on both sides. A value; the lines are borrowed.
class SplitCopy {
 public:
  /// For shorter ones it was not tried. In turn with a receiver that copies alone (`paceline bench
  /// send --buffers registered`, 2 ranks, AMD EPYC, 25 pairs): 64 KiB 1.1 to 1.2 times as fast, 256
  /// KiB 1.5, 1 MiB 2.0, 4 MiB 2.8, 32 MiB 1.5.
  static constexpr std::size_t kLeastBytes = std::size_t{64} << 10;

  /// Copy `number` of these lines, of `bytes`; neither is zero.
  SplitCopy(SplitLines& lines, std::uint64_t number, std::size_t bytes)
      : lines_(&lines), number_(static_cast<std::uint32_t>(number)), bytes_(bytes) {}

  std::size_t bytes() const { return bytes_; }
  std::uint32_t pieces() const {
    return static_cast<std::uint32_t>((bytes_ + piece_bytes() - 1) / piece_bytes());
  }

  /// Owner: from now on both may claim.
  void open(std::uint64_t target) {
    lines_->target.store(target, std::memory_order_relaxed);
    lines_->left.store(word(pieces()), std::memory_order_release);
  }
  /// Owner: nothing is claimed from now on. How many pieces nobody has claimed.
  std::uint32_t close() {
    return count_of(lines_->left.exchange(word(0), std::memory_order_acq_rel));
  }
  /// Owner: how many pieces the helper has written; they are there.
  std::uint32_t written() const {
    return count_of(lines_->written.load(std::memory_order_acquire));
  }

  /// Helper: where the target is, if the copy is open.
  std::optional<std::uint64_t> target() const {
    if (count_of(lines_->left.load(std::memory_order_acquire)) == 0) return {};
    return lines_->target.load(std::memory_order_relaxed);
  }
  /// Helper: behind its writes to the piece.
  void add_written() { lines_->written.store(word(written() + 1), std::memory_order_release); }

  /// Nothing where all are claimed or the copy is not open. The last pieces first.
  std::optional<SplitPiece> claim() {
    std::uint64_t seen = lines_->left.load(std::memory_order_acquire);
    while (count_of(seen) > 0) {
      if (!lines_->left.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel)) continue;
      const std::size_t begin = (count_of(seen) - 1) * piece_bytes();
      return SplitPiece{.begin = begin, .bytes = std::min(piece_bytes(), bytes_ - begin)};
    }
    return {};
  }

 private:
  // A half, as every claim waits for a line of the other's. Of pieces an eighth as long nothing was
  // left at 128 KiB; 512 KiB in four pieces took 1.1 times as long, 2 MiB and more in pieces of
  // half the length or twice it about as long.
  std::size_t piece_bytes() const {
    constexpr std::size_t kMost = std::size_t{256} << 10, kLine = 64;
    return std::min(((bytes_ + 1) / 2 + kLine - 1) / kLine * kLine, kMost);
  }
  std::uint64_t word(std::uint32_t count) const { return std::uint64_t{number_} << 32 | count; }
  // Of another copy: none.
  std::uint32_t count_of(std::uint64_t word) const {
    return word >> 32 == number_ ? static_cast<std::uint32_t>(word) : 0;
  }

  SplitLines* lines_;
  std::uint32_t number_;
  std::size_t bytes_;
};

}  // namespace paceline
