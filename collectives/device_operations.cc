#include "collectives/device_operations.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "comm/base/argument_error.h"
#include "comm/base/byte_ranges.h"
#include "comm/base/function_ref.h"
#include "comm/base/try.h"
#include "comm/exit.h"

namespace paceline {
namespace {

bool has_any(const std::size_t* counts, int ranks) {
  return counts != nullptr &&
         std::any_of(counts, counts + ranks, [](std::size_t count) { return count > 0; });
}

// Does this rank pass elements, or get some? Wrong calls may get any answer.
bool has_input(const OperationRequest& request, int rank, int ranks) {
  const bool is_root = request.signature.root == rank;
  const bool has_own = request.counts != nullptr && request.counts[rank] > 0;
  switch (request.signature.kind) {
    case OperationKind::kBarrier:
    case OperationKind::kClose:
    case OperationKind::kExchange:
    case OperationKind::kReceive:
      return false;
    case OperationKind::kBroadcast:
    case OperationKind::kScatter:
      return is_root && request.signature.count > 0;
    case OperationKind::kScatterV:
      return is_root && has_any(request.counts, ranks);
    case OperationKind::kReduceScatterV:
    case OperationKind::kAllToAllV:
      return has_any(request.counts, ranks);
    case OperationKind::kAllGatherV:
    case OperationKind::kGatherV:
      return has_own;
    default:
      return request.signature.count > 0;
  }
}

bool has_output(const OperationRequest& request, int rank, int ranks) {
  const bool is_root = request.signature.root == rank;
  const bool has_own = request.counts != nullptr && request.counts[rank] > 0;
  switch (request.signature.kind) {
    case OperationKind::kBarrier:
    case OperationKind::kClose:
    case OperationKind::kExchange:
    case OperationKind::kSend:
      return false;
    case OperationKind::kReduce:
    case OperationKind::kGather:
      return is_root && request.signature.count > 0;
    case OperationKind::kGatherV:
      return is_root && has_any(request.counts, ranks);
    case OperationKind::kAllGatherV:
      return has_any(request.counts, ranks);
    case OperationKind::kAllToAllV:
      return has_any(request.recv_counts, ranks);
    case OperationKind::kReduceScatterV:
    case OperationKind::kScatterV:
      return has_own;
    default:
      return request.signature.count > 0;
  }
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
  if (has_input(request, group.rank, group.size()) && !use(request.input)) return;
  if (has_output(request, group.rank, group.size())) (void)use(request.output);
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
