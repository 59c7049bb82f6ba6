// One array copied by two processes: its owner takes piece after piece from the front, the helper
// from the back, until they meet. So the quicker one copies more, and one that does something else
// keeps the other from nothing. (Where both took the next piece from one end, the 10th
// percentile of 16 MiB to one process alone was 0.66 to 0.79 in pairs; so, 1.80 and 1.89.)
//
// The owner of the target opens the copy; the helper looks for it while it waits. `taken` is the
// number of the copy and how many pieces each has claimed, `written` the number and how many the
// helper has written. A claim is a compare-and-exchange with the number in it: one that comes late,
// after the owner has closed this copy or opened the next one, fails, and then nothing is written.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace paceline {

/// What lies in shared memory. Zero is a good initial state.
struct SplitLines {
  alignas(64) std::atomic<std::uint64_t> taken;    // number: 32 bits, by the helper: 16, the owner
  std::atomic<std::uint64_t> target;               // place in its owner's arena; by the owner
  alignas(64) std::atomic<std::uint64_t> written;  // number: 32 bits, pieces; by the helper
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
  /// KiB 1.5, 1 MiB 2.0, 4 MiB 2.6, 16 MiB 2.0, 32 MiB 1.7 to 2.0.
  static constexpr std::size_t kLeastBytes = std::size_t{64} << 10;

  /// Copy `number` of these lines, of `bytes`; neither is zero.
  SplitCopy(SplitLines& lines, std::uint64_t number, std::size_t bytes)
      : lines_(&lines), number_(static_cast<std::uint32_t>(number)), bytes_(bytes) {}

  std::size_t bytes() const { return bytes_; }

  /// Owner: from now on both may claim.
  void open(std::uint64_t target) {
    lines_->target.store(target, std::memory_order_relaxed);
    lines_->taken.store(word(0), std::memory_order_release);
  }
  /// Owner: the next piece from the front; nothing where all are claimed.
  std::optional<SplitPiece> claim() { return claim(kByOwner); }
  /// Owner: the helper has written all that it has claimed, and it is there.
  bool is_written() const {
    const std::uint64_t taken = lines_->taken.load(std::memory_order_relaxed);
    const std::uint64_t written = lines_->written.load(std::memory_order_acquire);
    return is_this(taken) && by_helper(taken) == (is_this(written) ? low_half(written) : 0);
  }
  /// Owner: nothing is claimed from now on.
  void close() {
    std::uint64_t seen = lines_->taken.load(std::memory_order_relaxed);
    while (is_this(seen) && !lines_->taken.compare_exchange_weak(
                                seen, seen - by_owner(seen) + pieces() - by_helper(seen),
                                std::memory_order_acq_rel)) {
    }
  }

  /// Helper: where the target is, if there is something to claim.
  std::optional<std::uint64_t> target() const {
    if (!has_more(lines_->taken.load(std::memory_order_acquire))) return {};
    return lines_->target.load(std::memory_order_relaxed);
  }
  /// Helper: the next piece from the back; nothing where all are claimed, or the copy is not open.
  std::optional<SplitPiece> claim_from_back() { return claim(kByHelper); }
  /// Helper: behind its writes to the piece.
  void add_written() {
    const std::uint64_t before = lines_->written.load(std::memory_order_relaxed);
    lines_->written.store(is_this(before) ? before + 1 : word(1), std::memory_order_release);
  }

 private:
  static constexpr std::uint64_t kByOwner = 1, kByHelper = 1 << 16;

  std::uint64_t word(std::uint32_t count) const { return std::uint64_t{number_} << 32 | count; }
  bool is_this(std::uint64_t word) const { return word >> 32 == number_; }
  static std::uint32_t low_half(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
  static std::uint32_t by_owner(std::uint64_t taken) { return low_half(taken) & 0xffff; }
  static std::uint32_t by_helper(std::uint64_t taken) { return low_half(taken) >> 16; }
  bool has_more(std::uint64_t taken) const {
    return is_this(taken) && by_owner(taken) + by_helper(taken) < pieces();
  }

  std::optional<SplitPiece> claim(std::uint64_t who) {
    std::uint64_t seen = lines_->taken.load(std::memory_order_acquire);
    while (has_more(seen)) {
      if (!lines_->taken.compare_exchange_weak(seen, seen + who, std::memory_order_acq_rel))
        continue;
      const std::uint32_t index = who == kByOwner ? by_owner(seen) : pieces() - 1 - by_helper(seen);
      const std::size_t begin = index * piece_bytes();
      return SplitPiece{.begin = begin, .bytes = std::min(piece_bytes(), bytes_ - begin)};
    }
    return {};
  }

  // Halves, as every claim waits for a line of the other's: in eight pieces nothing was gained at
  // 128 KiB, in two 1.3 times.
  std::size_t piece_bytes() const {
    constexpr std::size_t kMost = std::size_t{256} << 10, kMostPieces = std::size_t{1} << 15;
    const std::size_t wanted = std::max(std::min((bytes_ + 1) / 2, kMost), bytes_ / kMostPieces);
    constexpr std::size_t kLine = 64;
    return (wanted + kLine - 1) / kLine * kLine;
  }
  std::uint32_t pieces() const {
    return static_cast<std::uint32_t>((bytes_ + piece_bytes() - 1) / piece_bytes());
  }

  SplitLines* lines_;
  std::uint32_t number_;
  std::size_t bytes_;
};

}  // namespace paceline
