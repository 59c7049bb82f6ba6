// Is this a call that can be made? Of collective operations; messages: backend/pairwise.h.
#pragma once

#include <span>

#include <paceline/status.h>
#include <paceline/tensor.h>

#include "collectives/backend.h"

namespace paceline {

/// Known words, counts that can be counted, a root that exists, buffers that are there and lie to
/// each other as they may. Code::kInvalidArgument says what is wrong, for a person.
Status validate(const OperationRequest& request, int rank, int ranks);
/// Each as the array of the all-reduce, and all beside each other.
Status validate_tensors(std::span<const Tensor> tensors, const OperationRequest& request,
                        int ranks);

}  // namespace paceline
