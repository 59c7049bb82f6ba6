// The operations that can be measured: a table. A new one is a row here and a call in Subject.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "launcher/probe/subject.h"

namespace paceline::probe {

/// What one call is given; an operation takes of it what it has.
struct Call {
  const void* in = nullptr;
  Elements out;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;
};

struct Operation {
  std::string_view name;
  bool has_elements = false;
  bool reduces = false;  ///< it has a ReduceOp, and an input that may lie elsewhere than the output
  bool has_root = false;
  Status (*run)(Subject& subject, const Call& call) = nullptr;
  /// busbw = algbw times this.
  double (*bus_factor)(int ranks) = nullptr;
  /// How many buffers of the message's size have to be written on all ranks together.
  int (*written)(int ranks) = nullptr;
};

std::span<const Operation> operations();
/// Null where there is none of this name.
const Operation* find_operation(std::string_view name);

}  // namespace paceline::probe
