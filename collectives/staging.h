// What an operation works on where that is not the caller's memory as it lies: small tensors one
// behind the other, elements multiplied by a factor.
#pragma once

#include <cstddef>
#include <span>

#include <paceline/tensor.h>

#include "collectives/backend/backend.h"
#include "comm/bytes.h"

namespace paceline {

/// For one operation at a time.
class Staging {
 public:
  static bool is_needed(const OperationRequest& request) {
    return !request.tensors.empty() || request.signature.op == ReduceOp::kPreMulSum;
  }
  /// Points the request to memory that has been prepared: its own, or, of an all-reduce of one
  /// array, the output. Until deliver(), or for good after an error.
  void prepare(OperationRequest& request, int ranks);
  /// After success: brings the results of tensors to where they belong.
  void deliver();

 private:
  void gather(OperationRequest& request);
  static void scale(const OperationRequest& request, std::byte* into, std::size_t count);
  std::byte* memory(std::size_t bytes);

  Bytes memory_;  // grows only
  std::span<const Tensor> tensors_;
  std::size_t element_bytes_ = 0;
};

/// How many of the first tensors travel in one operation: one, or as many of up to `small_bytes` as
/// are worth copying. The same on every rank that passes the same counts.
std::size_t tensors_together(std::span<const Tensor> tensors, std::size_t element_bytes,
                             std::size_t small_bytes);

/// The all-reduce of these tensors, which go together, in the place of the request's array.
OperationRequest request_of(std::span<const Tensor> tensors, OperationRequest request);

}  // namespace paceline
