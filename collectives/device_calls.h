// The calls of a device library that carry out an operation. Pure.
#pragma once

#include <vector>

#include "collectives/backend/backend.h"
#include "comm/device/device_group.h"

namespace paceline {

/// Can it be carried out so? The same on all ranks. Messages between two ranks are not: a library
/// does not find out that two ranks disagree about one.
inline bool has_device_calls(const OperationRequest& request) {
  return is_collective(request.signature.kind) && has_elements(request.signature.kind);
}

/// The calls of one rank, which run together. None, if it has no elements. Kinds that NCCL does not
/// have become messages or several calls.
std::vector<DeviceCall> device_calls(const OperationRequest& request, int rank, int ranks);

}  // namespace paceline
