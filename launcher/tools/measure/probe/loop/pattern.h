// What the ranks put into their buffers, and what has to come out. Pure.
//
// All values are small integers, so that sums and products of any order are exact in every type, up
// to 64 ranks; where they do not fit, they wrap as sums do. Rank r's element i of the k-th call is
// base[(i + 37 r + 101 (k mod 64)) mod 1021]: neighbours, ranks and calls differ, so that a stale,
// shifted or missing contribution shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <paceline/types.h>

#include "launcher/tools/measure/probe/loop/subject.h"

namespace paceline::probe {

class Pattern {
 public:
  static constexpr std::size_t kPeriod = 1021;  // a prime: no size is a multiple of it
  static constexpr std::uint64_t kCalls = 64;   // that have values of their own

  Pattern(DataType type, ReduceOp op, int ranks);

  /// Writes rank's values of that call. Cheap enough to stand inside a measured batch.
  void fill(Elements into, int rank, std::uint64_t call) const;
  /// How many elements are not the reduction of all ranks' values of that call, from element
  /// `first` of each on.
  std::size_t wrong_reduction(Elements result, std::uint64_t call, std::size_t first = 0) const;
  /// How many elements are not that rank's values of that call.
  std::size_t wrong_copy(Elements result, int rank, std::uint64_t call,
                         std::size_t first = 0) const;

 private:
  std::size_t wrong(Elements result, const std::byte* expected) const;

  DataType type_;
  ReduceOp op_;
  int ranks_;
  std::size_t element_bytes_;
  std::size_t stride_;            // bytes after which the table repeats what it began with
  std::vector<std::byte> table_;  // a period more than the stride
};

}  // namespace paceline::probe
