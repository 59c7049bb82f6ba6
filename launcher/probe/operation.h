// The operations that can be measured: a table. A new one is a row here, and a case in every
// Subject that has it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <paceline/types.h>

namespace paceline::probe {

struct Operation {
  OperationKind kind = OperationKind::kBarrier;
  /// busbw = algbw times this.
  double (*bus_factor)(int ranks) = nullptr;
  /// How many arrays of the message's size have to be written on all ranks together.
  double (*written)(int ranks) = nullptr;

  std::string_view name() const { return paceline::name(kind); }
  /// Is it to be chosen whether input and output are the same memory?
  bool has_place() const {
    return has_elements(kind) && kind != OperationKind::kBroadcast &&
           kind != OperationKind::kAllToAll;
  }
  bool is_in_place(bool wanted) const {
    return has_place() ? wanted : kind != OperationKind::kAllToAll;
  }
  /// Of how many blocks an array of the message's size consists; 0 where there is none.
  std::size_t blocks(int ranks) const;
};

std::span<const Operation> operations();
/// Null where there is none of this name.
const Operation* find_operation(std::string_view name);

}  // namespace paceline::probe
