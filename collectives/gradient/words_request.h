// Operations on a few numbers that ranks tell each other about a step.
#pragma once

#include <cstddef>

#include "collectives/backend/backend.h"

namespace paceline {

inline OperationRequest words_request(OperationKind kind, std::size_t words, const void* in,
                                      void* out, DataType type = DataType::kUInt64) {
  return {.signature = {.count = words, .kind = kind, .type = type, .op = ReduceOp::kSum},
          .input = static_cast<const std::byte*>(in),
          .output = static_cast<std::byte*>(out)};
}

}  // namespace paceline
