// The calls of a device library that carry out an operation. Pure.
#pragma once

#include <vector>

#include "collectives/backend/backend.h"
#include "comm/device/device_group.h"

namespace paceline {

/// Can it be carried out so? The same on all ranks. Messages between two ranks are not, nor is
/// all_to_all_v: a library does not find out that two ranks disagree about their lengths.
inline bool has_device_calls(const OperationRequest& request) {
  const OperationKind kind = request.signature.kind;
  return is_collective(kind) && has_elements(kind) && kind != OperationKind::kAllToAllV;
}

/// The calls of one rank, which run together. None, if it has no elements. Kinds that NCCL does not
/// have become messages or several calls.
std::vector<DeviceCall> device_calls(const OperationRequest& request, int rank, int ranks);

}  // namespace paceline
