#include "collectives/validation.h"

#include <string>

#include "collectives/backend/plan_request.h"
#include "collectives/staging.h"
#include "comm/base/argument_error.h"
#include "comm/base/byte_ranges.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// Apart from their callers, which all operations pass through.
[[gnu::cold, gnu::noinline]] Status root_error(int root, int ranks) {
  return argument_error("root " + std::to_string(root) + " is not in 0.." +
                        std::to_string(ranks - 1));
}

Status validate_factor(const OperationRequest& request) {
  if (!request.factor) return argument_error("premul_sum needs a factor");
  if (request.factor->type == request.signature.type) return {};
  return argument_error("the factor has another type than the elements");
}

Status validate_buffers(const OperationRequest& request, int rank, int ranks) {
  const Shape shape = shape_of(plan_request(request, rank, ranks));
  if ((shape.input_count > 0 && request.input == nullptr) ||
      (shape.output_count > 0 && request.output == nullptr)) {
    return argument_error("a buffer is null");
  }
  const std::size_t element = size_of(request.signature.type);
  const ByteRange in(request.input, shape.input_count * element);
  const ByteRange out(request.output, shape.output_count * element);
  const bool in_place =
      in.address + shape.output_at * element == out.address + shape.input_at * element;
  if (!in_place && overlap(in, out)) {
    return argument_error("the buffers overlap, but not in the way of an in-place operation");
  }
  return {};
}

Status validate_counts(const OperationRequest& request, int rank, int ranks) {
  const auto check = [&](const std::size_t* counts) -> Status {
    if (counts == nullptr) return argument_error("the counts are NULL");
    std::size_t left = SIZE_MAX / 2 / size_of(request.signature.type);
    for (int each = 0; each < ranks; ++each) {
      if (counts[each] > left) return argument_error("count is too large");
      left -= counts[each];
    }
    return {};
  };
  PACELINE_TRY(check(request.counts));
  if (request.signature.kind == OperationKind::kAllToAllV) {
    PACELINE_TRY(check(request.recv_counts));
    const auto own = static_cast<std::size_t>(rank);
    if (request.counts[own] != request.recv_counts[own])
      return argument_error("this rank sends itself " + std::to_string(request.counts[own]) +
                            " elements, but receives " + std::to_string(request.recv_counts[own]) +
                            " from itself");
  }
  return validate_buffers(request, rank, ranks);
}

}  // namespace

Status validate(const OperationRequest& request, int rank, int ranks) {
  if (is_plainly_valid(request, ranks)) return {};
  const Signature& signature = request.signature;
  if (!has_elements(signature.kind)) return {};
  const std::size_t element = size_of(signature.type);
  if (element == 0) return argument_error("unknown data type");
  if (!is_known(signature.op)) return argument_error("unknown op");
  if (signature.op == ReduceOp::kPreMulSum) PACELINE_TRY(validate_factor(request));
  const bool is_array =
      signature.kind == OperationKind::kAllReduce || signature.kind == OperationKind::kBroadcast;
  const std::size_t blocks = is_array ? 1 : static_cast<std::size_t>(ranks);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(signature.count, element * blocks, &bytes) || bytes > SIZE_MAX / 2) {
    return argument_error("count is too large");
  }
  if (has_root(signature.kind) && (signature.root < 0 || signature.root >= ranks))
    return root_error(signature.root, ranks);
  if (has_counts(signature.kind)) return validate_counts(request, rank, ranks);
  return validate_buffers(request, rank, ranks);
}

Status validate_tensors(std::span<const Tensor> tensors, const OperationRequest& request,
                        int ranks) {
  ByteRangeSet buffers;
  for (const Tensor& tensor : tensors) {
    PACELINE_TRY(validate(request_of({&tensor, 1}, request), 0, ranks));
    const std::size_t bytes = tensor.count * size_of(request.signature.type);
    buffers.write(tensor.out, bytes);
    if (tensor.in != tensor.out) buffers.read(tensor.in, bytes);
  }
  if (!buffers.is_disturbed()) return {};
  return argument_error("the output of one tensor overlaps another tensor");
}

}  // namespace paceline
