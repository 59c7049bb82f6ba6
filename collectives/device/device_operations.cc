#include "collectives/device/device_operations.h"

#include <string>
#include <utility>
#include <vector>

#include "comm/base/argument_error.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

bool uses_input(const Signature& signature, bool is_root) {
  switch (signature.kind) {
    case OperationKind::kBarrier:
    case OperationKind::kClose:
    case OperationKind::kReceive:
      return false;
    case OperationKind::kBroadcast:
    case OperationKind::kScatter:
    case OperationKind::kScatterV:
      return is_root;
    default:
      return true;
  }
}

bool uses_output(const Signature& signature, bool is_root) {
  switch (signature.kind) {
    case OperationKind::kBarrier:
    case OperationKind::kClose:
    case OperationKind::kSend:
      return false;
    case OperationKind::kReduce:
    case OperationKind::kGather:
    case OperationKind::kGatherV:
      return is_root;
    default:
      return true;
  }
}

// The buffers that the rank uses; those that are null have no elements.
std::vector<const void*> buffers_of(const OperationRequest& request, int rank) {
  std::vector<const void*> buffers;
  const auto add = [&](const void* buffer) {
    if (buffer != nullptr) buffers.push_back(buffer);
  };
  const bool is_root = request.signature.root == rank;
  if (uses_input(request.signature, is_root)) add(request.input);
  if (uses_output(request.signature, is_root)) add(request.output);
  for (const Tensor& tensor : request.tensors) {
    add(tensor.in);
    add(tensor.out);
  }
  for (const Message& message : request.messages) add(message.is_sent ? message.in : message.out);
  return buffers;
}

std::string place(const Device* device) {
  return device == nullptr ? "host memory" : "the memory of " + device->name();
}

}  // namespace

Result<Devices*> DeviceOperations::devices() {
  if (devices_ != nullptr) return devices_;
  return ProcessDevices::of_process().open();
}

Result<Device*> DeviceOperations::device_of(const OperationRequest& request) {
  PACELINE_TRY_ASSIGN(Devices* const devices, this->devices());
  const std::vector<const void*> buffers = buffers_of(request, held_.parts().group.rank);
  Device* found = nullptr;
  bool is_first = true;
  for (const void* buffer : buffers) {
    PACELINE_TRY_ASSIGN(Device* const device, devices->device_of(buffer));
    if (!std::exchange(is_first, false) && device != found)
      return argument_error(std::string(name(request.signature.kind)) +
                            ": one buffer lies in " + place(found) + " and another in " +
                            place(device) + "; all must lie in the same");
    found = device;
  }
  if (buffers.empty() && request.stream != nullptr)
    return devices->device_of_stream(request.stream);
  if (buffers.empty() && has_elements(request.signature.kind)) return last_device_;
  last_device_ = found;
  if (found == nullptr && request.stream != nullptr)
    return argument_error("the stream must be NULL: the buffers are host memory");
  return found;
}

Result<StagedLane*> DeviceOperations::lane_of(Device& device) {
  if (const auto found = lanes_.find(&device); found != lanes_.end()) return found->second.get();
  PACELINE_TRY_ASSIGN(auto lane, StagedLane::make(held_, device));
  return (lanes_[&device] = std::move(lane)).get();
}

std::shared_ptr<const WorkCompletion> DeviceOperations::start(const OperationRequest& request,
                                                              Device& device) {
  Status refused = check(request);
  if (refused.ok()) {
    const Result<StagedLane*> lane = lane_of(device);
    if (lane.ok()) return (*lane)->start(request);
    refused = lane.status();
  }
  auto completion = std::make_shared<WorkCompletion>();
  completion->end(std::move(refused));
  return completion;
}

Status DeviceOperations::check(const OperationRequest& request) const {
  PACELINE_TRY(held_.failure());
  OperationRequest checked = request;
  // The root may copy from one buffer into another.
  if (checked.signature.kind == OperationKind::kBroadcast) checked.input = checked.output;
  if (request.tensors.empty()) return held_.queue().check(checked);
  checked.tensors = {};
  checked.signature.count = 0;
  return held_.queue().check_many(request.tensors, checked);
}

void DeviceOperations::leave() {
  for (const auto& [_, lane] : lanes_) lane->leave();
}

}  // namespace paceline
