// The operations that can be measured: a table. A new one is a row here, and a case in every
// Subject that has it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <paceline/types.h>

#include "collectives/plan/shape.h"

namespace paceline::probe {

struct Operation {
  OperationKind kind = OperationKind::kBarrier;
  /// busbw = algbw times this.
  double (*bus_factor)(int ranks) = nullptr;
  /// How many arrays of the message's size have to be written on all ranks together.
  double (*written)(int ranks) = nullptr;

  std::string_view name() const { return paceline::name(kind); }
  /// A message between two ranks, or one of each rank.
  bool is_pairwise() const {
    return kind == OperationKind::kSend || kind == OperationKind::kExchange;
  }
  bool has_arrays() const { return has_elements(kind) || is_pairwise(); }
  /// Is it to be chosen whether input and output are the same memory?
  bool has_place() const {
    return has_arrays() && !has_two_arrays() && kind != OperationKind::kBroadcast;
  }
  bool is_in_place(bool wanted) const { return has_place() ? wanted : !has_two_arrays(); }
  /// Of how many blocks an array of the message's size consists; 0 where there is none.
  std::size_t blocks(int ranks) const;
  /// As collectives/plan/shape.h has them. In an exchange each rank sends to next_to() itself;
  /// one message goes from rank 0 to rank 1.
  Shape shape(const PlanRequest& request) const;
  std::vector<Origin> origins(const std::vector<PlanRequest>& requests, int rank) const;

 private:
  bool has_two_arrays() const { return is_pairwise() || kind == OperationKind::kAllToAll; }
};

/// The one behind it, in a ring.
constexpr int next_to(int rank, int ranks) { return (rank + 1) % ranks; }
constexpr int previous_to(int rank, int ranks) { return (rank + ranks - 1) % ranks; }

std::span<const Operation> operations();
/// Null where there is none of this name.
const Operation* find_operation(std::string_view name);

}  // namespace paceline::probe
