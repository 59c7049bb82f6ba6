// The definition of each operation: how long the buffers of an operation are on one rank, where
// they lie to each other in place, and which input its output comes from. Plans are proven against
// this, and calls are checked against it.
//
//   kind            input            output           in place
//   broadcast       root: array      array            the same buffer
//   reduce          array            root: array      the same buffer
//   all_reduce      array            array            the same buffer
//   reduce_scatter  a block a rank   own block        output = own block of the input
//   all_gather      own block        a block a rank   input = own block of the output
//   gather          own block        root: a block a rank   root: input = own block of the output
//   scatter         root: a block a rank   own block        root: output = own block of the input
//   all_to_all      a block a rank   a block a rank   not possible
//   …_v             the same, of blocks that have counts of their own
//
// In place is what NCCL calls so (its user guide, "In-place Operations"). Blocks lie one behind the
// other, one for each rank, in the order of the ranks. They are of `count` elements, or, where
// has_counts(kind), of as many as the counts say: all_to_all_v sends blocks of `counts` and
// receives blocks of `recv_counts`, and of the others all ranks know the same `counts`.
#pragma once

#include <cstddef>
#include <vector>

#include <paceline/types.h>

namespace paceline {

/// The host of a rank; `hosts` is as in PlanRequest.
inline int host_of(int rank, const std::vector<int>* hosts) {
  return hosts == nullptr ? rank : (*hosts)[static_cast<std::size_t>(rank)];
}

/// The operation that a plan carries out, and this rank's part in it.
struct PlanRequest {
  OperationKind kind = OperationKind::kBarrier;
  int rank = 0;
  int ranks = 1;
  int root = 0;                       ///< where has_root(kind)
  std::size_t count = 0;              ///< elements of the array, or of one block; 0 for a barrier
  std::vector<std::size_t> counts{};  ///< by rank, where has_counts(kind)
  std::vector<std::size_t> recv_counts{};  ///< by rank, of all_to_all_v
  std::size_t segment_count = 1;           ///< longest message worth sending whole, at least 1
  /// By rank: the number of its host, from 0 on without a gap. Borrowed, and compared as a pointer.
  /// Null: all ranks are on one host, or the hosts are unknown. Algorithms then treat each rank as
  /// a host of its own.
  const std::vector<int>* hosts = nullptr;

  int host_of(int of_rank) const { return paceline::host_of(of_rank, hosts); }

  bool operator==(const PlanRequest&) const = default;
};

/// In elements. In place, input element i and output element o are the same one where
/// input_at + i = output_at + o.
struct Shape {
  std::size_t input_count = 0;
  std::size_t output_count = 0;
  std::size_t input_at = 0;
  std::size_t output_at = 0;

  bool operator==(const Shape&) const = default;
};

/// Consecutive elements of an array.
struct Part {
  std::size_t offset = 0;
  std::size_t count = 0;

  bool operator==(const Part&) const = default;
};

/// The block of `rank` in an array of blocks; for all_to_all_v, in the input.
Part block_of(const PlanRequest& request, int rank);
/// As above; for all_to_all_v, in the output.
Part received_block_of(const PlanRequest& request, int rank);

/// The shape of the buffers of request.rank. The elements of all blocks can be counted.
Shape shape_of(const PlanRequest& request);
/// The requests of all ranks of a kind of which all know the same.
std::vector<PlanRequest> requests_of(PlanRequest request);

/// Output elements [begin, begin + count) come from input elements [input_begin, …) of `rank`, or,
/// where that is kEveryRank, are the reduction of those of all.
struct Origin {
  static constexpr int kEveryRank = -1;

  std::size_t begin = 0;
  std::size_t count = 0;
  int rank = kEveryRank;
  std::size_t input_begin = 0;
};

/// All of the output of `rank`, in its order; `requests` are those of all ranks.
std::vector<Origin> origins_of(const std::vector<PlanRequest>& requests, int rank);

}  // namespace paceline
