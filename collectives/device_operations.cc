#include "collectives/device_operations.h"

#include <optional>
#include <string>
#include <utility>

#include "collectives/backend/plan_request.h"
#include "comm/base/argument_error.h"
#include "comm/base/byte_ranges.h"
#include "comm/base/function_ref.h"
#include "comm/base/try.h"
#include "comm/exit.h"

namespace paceline {
namespace {

// The elements of the two buffers. A wrong call may get any answer: it is refused later.
Shape shape_of_call(const OperationRequest& request, int rank, int ranks) {
  const Signature& signature = request.signature;
  if (signature.kind == OperationKind::kSend) return {.input_count = signature.count};
  if (signature.kind == OperationKind::kReceive) return {.output_count = signature.count};
  const bool lacks_counts = has_counts(signature.kind) && request.counts == nullptr;
  const bool lacks_others =
      signature.kind == OperationKind::kAllToAllV && request.recv_counts == nullptr;
  return lacks_counts || lacks_others ? Shape() : shape_of(plan_request(request, rank, ranks));
}

// Calls `use` for each buffer with elements, until that is false.
void for_each_buffer(const OperationRequest& request, const Group& group,
                     FunctionRef<bool(const void*)> use) {
  if (!request.tensors.empty()) {
    for (const Tensor& tensor : request.tensors)
      if (tensor.count > 0 && (!use(tensor.in) || !use(tensor.out))) return;
    return;
  }
  for (const Message& message : request.messages)
    if (message.count > 0 && !use(message.is_sent ? message.in : message.out)) return;
  const Shape shape = shape_of_call(request, group.rank, group.size());
  if (shape.input_count > 0 && !use(request.input)) return;
  if (shape.output_count > 0) (void)use(request.output);
}

std::string place(const Device* device) {
  return device == nullptr ? "host memory" : "the memory of " + device->name();
}

}  // namespace

// Null if no buffer is device memory, and the module cannot be loaded: host memory needs none.
Result<Devices*> DeviceOperations::devices_for(const OperationRequest& request) {
  if (devices_ != nullptr) return devices_;
  const ProcessDevices& process = ProcessDevices::of_process();
  const Result<Devices*>& opened = ProcessDevices::of_process().open();
  if (opened.ok()) return opened;
  bool is_host = true;
  for_each_buffer(request, held_.parts().group, [&](const void* buffer) {
    is_host = !process.is_on_device(buffer);
    return is_host;
  });
  if (!is_host || request.stream != nullptr) return opened;
  return static_cast<Devices*>(nullptr);
}

Result<Device*> DeviceOperations::device_of(const OperationRequest& request,
                                            DeviceStream fallback) {
  const bool has_buffers =
      has_elements(request.signature.kind) || !request.messages.empty() || !request.tensors.empty();
  if (!has_buffers && request.stream == nullptr) return nullptr;
  PACELINE_TRY_ASSIGN(Devices* const devices, devices_for(request));
  if (devices == nullptr) return nullptr;
  std::optional<Device*> found;
  Status failure;
  for_each_buffer(request, held_.parts().group, [&](const void* buffer) {
    const Result<Device*> device = devices->device_of(buffer);
    if (!device.ok()) {
      failure = device.status();
    } else if (found && *found != *device) {
      failure = argument_error(std::string(name(request.signature.kind)) + ": one buffer lies in " +
                               place(*found) + " and another in " + place(*device) +
                               "; all must lie in the same");
    }
    if (device.ok()) found = *device;
    return failure.ok();
  });
  PACELINE_TRY(failure);
  const DeviceStream stream = request.stream != nullptr ? request.stream : fallback;
  if (!found) {
    if (stream != nullptr && (has_buffers || request.stream != nullptr))
      return devices->device_of_stream(stream);
    return last_device_.load(std::memory_order_relaxed);
  }
  last_device_.store(*found, std::memory_order_relaxed);
  if (*found == nullptr && request.stream != nullptr)
    return argument_error("the stream must be NULL: the buffers are host memory");
  if (*found != nullptr && stream != nullptr) {
    PACELINE_TRY_ASSIGN(Device* const of_stream, devices->device_of_stream(stream));
    if (of_stream != *found)
      return argument_error(std::string(name(request.signature.kind)) + ": the buffers lie in " +
                            place(*found) + ", and the stream is one of " + of_stream->name());
  }
  return *found;
}

Result<StagedLane*> DeviceOperations::lane_of(Device& device) {
  if (const auto found = lanes_.find(&device); found != lanes_.end()) return found->second.get();
  if (lanes_.empty()) let_exit_handler_run_first();
  PACELINE_TRY_ASSIGN(auto lane, StagedLane::make(held_, device));
  return (lanes_[&device] = std::move(lane)).get();
}

std::shared_ptr<const WorkCompletion> DeviceOperations::start(const OperationRequest& request,
                                                              Device& device) {
  Status refused = check(request);
  if (refused.ok()) {
    const Result<StagedLane*> lane = lane_of(device);
    if (lane.ok()) return (*lane)->start(request);
    // Other ranks make the operation, so this rank cannot go on without it.
    refused = lane.status();
    held_.fail(refused);
  }
  auto completion = std::make_shared<WorkCompletion>();
  completion->end(std::move(refused));
  return completion;
}

Status DeviceOperations::check(const OperationRequest& request) const {
  PACELINE_TRY(held_.failure());
  OperationRequest checked = request;
  // In C, the root of a broadcast may copy from one buffer into another.
  if (checked.signature.kind == OperationKind::kBroadcast && checked.input != checked.output) {
    checked.input = checked.output;
    const bool is_root = checked.signature.root == held_.parts().group.rank;
    if (is_root && request.input == nullptr) checked.output = nullptr;  // refused, if it is needed
    PACELINE_TRY(held_.queue().check(checked));
    const std::size_t bytes = request.signature.count * size_of(request.signature.type);
    if (is_root && overlap({request.input, bytes}, {request.output, bytes}))
      return argument_error("broadcast: the two buffers overlap");
    return {};
  }
  if (request.tensors.empty()) return held_.queue().check(checked);
  checked.tensors = {};
  checked.signature.count = 0;
  return held_.queue().check_many(request.tensors, checked);
}

void DeviceOperations::leave() {
  for (const auto& [_, lane] : lanes_) lane->leave();
}

}  // namespace paceline
