// Is this a call that can be made? Of collective operations; messages: backend/pairwise.h.
#pragma once

#include <span>

#include <paceline/status.h>
#include <paceline/tensor.h>

#include "collectives/backend/backend.h"
#include "comm/base/byte_ranges.h"

namespace paceline {

/// Elements whose bytes can be counted.
inline constexpr std::uint64_t kMostPlainCount = SIZE_MAX / 16;

/// Is it one of the calls that are made most, and can be made? Others may be, too.
inline bool is_plainly_valid(const OperationRequest& request, int ranks) {
  const Signature& signature = request.signature;
  if (signature.kind == OperationKind::kBarrier) return true;
  const bool has_good_root =
      signature.kind == OperationKind::kBroadcast && signature.root >= 0 && signature.root < ranks;
  if ((signature.kind != OperationKind::kAllReduce && !has_good_root) ||
      !is_known(signature.type) || signature.op >= ReduceOp::kPreMulSum ||
      signature.count > kMostPlainCount)
    return false;
  const ByteRange in(request.input, signature.count * size_of(signature.type));
  const ByteRange out(request.output, in.bytes);
  const bool are_there = request.input != nullptr && request.output != nullptr;
  return are_there && (in.address == out.address || !overlap(in, out));
}

/// Known words, counts that can be counted, a root that exists, buffers that are there and lie to
/// each other as they may. Code::kInvalidArgument says what is wrong, for a person.
Status validate(const OperationRequest& request, int rank, int ranks);
/// Each as the array of the all-reduce, and all beside each other.
Status validate_tensors(std::span<const Tensor> tensors, const OperationRequest& request,
                        int ranks);

}  // namespace paceline
