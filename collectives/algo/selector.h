// Which algorithm does an operation fastest, by a model of the path between ranks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <paceline/status.h>

#include "collectives/algo/algorithms.h"
#include "collectives/plan/plan.h"

namespace paceline {

/// A message of b bytes takes alpha + b beta (Hockney, "The communication challenge for MPP",
/// Parallel Computing 20, 1994); reducing what arrives is part of beta.
struct PathModel {
  double alpha_ns = 0;
  double beta_ns_per_byte = 0;
};

/// TCP over loopback, waiting busily. From the median times of an out-of-place float32 all-reduce
/// of 2 ranks over one connection (a prototype's benchmark, so one exchange: alpha + b beta) on a
/// 2-core x86-64 virtual machine, Linux 6.18: 4.35 us for 4 B, 25.8 us for 64 KiB, 1298 us for
/// 4 MiB. alpha is the first; (1298 us - alpha) / 4 MiB is beta, and 64 KiB would make it 0.33.
inline constexpr PathModel kTcpLoopback{.alpha_ns = 4350, .beta_ns_per_byte = 0.308};

/// Between hosts, until it is measured: 10 Gbit/s, and as long as a rank takes to be woken there.
inline constexpr PathModel kBetweenHosts{.alpha_ns = 25'000, .beta_ns_per_byte = 0.8};

/// messages × alpha + bytes sent × beta, of the rank that sends most: it sends one after the other,
/// and waits for at least as many as there are rounds.
double predicted_ns(const Cost& cost, std::size_t element_bytes, const PathModel& model);

struct SelectOptions {
  PathModel model = kTcpLoopback;
  /// If the request says on which hosts the ranks are. If some share a host, each round counts as
  /// one between hosts, and all messages of a host to others go through one line.
  PathModel between_hosts = kBetweenHosts;
  /// Name of the algorithm to take for operations that have one of that name; empty: none.
  std::string_view forced;
  /// Reductions only by algorithms in_rank_order.
  bool in_rank_order = false;
};

/// Refuses a forced name that no operation knows, or that select() refuses for an operation: before
/// ranks have begun one, whose error would be final.
Status check_forced(const SelectOptions& options);

/// The algorithm of the smallest predicted time; the first in the table among equals. Depends only
/// on what all ranks know alike (not on request.rank), so they agree without talking. A forced
/// name that no operation knows is Code::kInvalidArgument, with the names there are.
Result<const Algorithm*> select(const PlanRequest& request, std::size_t element_bytes,
                                const SelectOptions& options = {});

/// The times that select() compares, the least first: "ring 52.1 ms, direct 60.0 ms".
std::string predictions(const PlanRequest& request, std::size_t element_bytes,
                        const SelectOptions& options);

}  // namespace paceline
