// How often a group's operations ran and how long they took, and samples of single operations. In
// shared memory: one writer, and readers in other processes.
//
// Readers compare the samples of one operation from all ranks. So all ranks must keep the same
// operations, at any rate of calls and without a message: the number of an operation decides its
// level, half of all operations have level 0, a quarter level 1, and so on. Each level keeps its
// last few. Levels are spread over the numbers so that a fixed number of operations a step does not
// always yield the same one.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include <paceline/types.h>

#include "comm/base/clock.h"
#include "comm/base/signature.h"

namespace paceline {

struct OperationTotals {
  OperationKind kind{};
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;      ///< of Signature::count elements each
  std::int64_t time_ns = 0;     ///< from call to end, added up
  std::int64_t exposed_ns = 0;  ///< of it the rank's thread waited
};

struct OperationSample {
  std::uint64_t sequence = 0;
  OperationKind kind{};
  bool is_root = false;        ///< of a kind that has one
  std::uint64_t bytes = 0;     ///< as in OperationTotals
  std::int64_t called_ns = 0;  ///< CLOCK_MONOTONIC
  std::int64_t ended_ns = 0;
  std::int64_t exposed_ns = 0;  ///< of it the rank's thread waited, up to the end

  bool operator==(const OperationSample&) const = default;
};

/// When a rank called an operation, and how it ended.
struct OperationTimes {
  TimePoint called;
  TimePoint ended;
  Duration exposed{};    ///< of it the rank's thread waited, up to the end
  bool is_root = false;  ///< this rank is the root
};

/// An object of zeros is an empty book.
class OperationBook {
 public:
  static constexpr int kLevels = 20;
  static constexpr std::size_t kKept = 64;  ///< samples of a level

  /// 0 to kLevels - 1.
  static int level_of(std::uint64_t sequence) {
    const std::uint64_t spread = (sequence + 1) * 0x9E3779B97F4A7C15;  // Fibonacci hashing
    const int zeros = std::countl_zero(spread);
    return zeros < kLevels ? zeros : kLevels - 1;
  }

  /// Writer: an operation has succeeded.
  void note(const Signature& signature, const OperationTimes& times);
  /// Writer: another group begins.
  void clear();

  /// Reader: of the kinds that were called.
  std::vector<OperationTotals> totals() const;
  /// Reader: what all levels keep, by level, in no order.
  std::vector<OperationSample> samples() const;

 private:
  struct Row {
    std::atomic<std::uint64_t> count, bytes;
    std::atomic<std::int64_t> time_ns, exposed_ns;
  };
  struct Slot {
    std::atomic<std::uint64_t> version;  // odd while it is written; 0: empty
    std::atomic<std::uint64_t> sequence;
    std::atomic<std::int64_t> called_ns, ended_ns, exposed_ns;
    std::atomic<std::uint64_t> form;  // kind, is_root and bytes
  };

  Row rows_[std::size(kOperationKinds)];
  std::uint64_t next_[kLevels];  // the writer's: samples ever kept of a level
  Slot slots_[kLevels][kKept];
};

}  // namespace paceline
