#include "collectives/device_operations.h"

#include <optional>
#include <string>
#include <utility>

#include "collectives/backend/plan_request.h"
#include "collectives/device_calls.h"
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

// An operation that was called before it is known which lane carries it out. It has its place in
// the queue.
class DeviceOperations::Deferred final : public OperationStage {
 public:
  Deferred(const OperationRequest& request, int ranks, Device& device, EventPool& events,
           const DeviceCallPlace& place, std::shared_ptr<WorkCompletion> completion)
      : device_(device),
        events_(events),
        place_(place),
        request_(request),
        completion_(std::move(completion)) {
    // Borrows nothing of the caller but the buffers.
    const auto keep = [ranks](auto& kept, const auto*& counts) {
      if (counts != nullptr) kept.assign(counts, counts + ranks);
      if (counts != nullptr) counts = kept.data();
    };
    keep(counts_, request_.counts);
    keep(recv_counts_, request_.recv_counts);
    messages_.assign(request.messages.begin(), request.messages.end());
    tensors_.assign(request.tensors.begin(), request.tensors.end());
    request_.messages = messages_;
    request_.tensors = tensors_;
  }
  ~Deferred() { events_.give_back(place_.called); }
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;

  Device& device() const { return device_; }
  const OperationRequest& request() const { return request_; }
  const std::shared_ptr<WorkCompletion>& completion() const { return completion_; }
  bool has_ended() const { return has_ended_; }
  DeviceCallPlace take_place() {
    const DeviceCallPlace place = place_;
    place_.called = nullptr;
    return place;
  }
  void become(OperationStage& stage) { becomes_ = &stage; }

  OperationRequest* next_part() override {
    return becomes_ != nullptr ? becomes_->next_part() : nullptr;
  }
  CollectiveBackend* backend() override { return becomes_->backend(); }
  bool end_part() override { return becomes_->end_part(); }
  void end(const Status& how) override {
    has_ended_ = true;
    if (becomes_ != nullptr) return std::exchange(becomes_, nullptr)->end(how);
    completion_->end(how);
  }

 private:
  Device& device_;
  EventPool& events_;
  DeviceCallPlace place_;
  OperationRequest request_;
  std::vector<std::size_t> counts_;
  std::vector<std::size_t> recv_counts_;
  std::vector<Message> messages_;
  std::vector<Tensor> tensors_;
  const std::shared_ptr<WorkCompletion> completion_;
  OperationStage* becomes_ = nullptr;  // of a lane
  bool has_ended_ = false;
};

DeviceOperations::DeviceOperations(HeldCommunicator& held, Devices* devices)
    : held_(held), devices_(devices), has_driver_(devices != nullptr) {}

DeviceOperations::~DeviceOperations() = default;

std::shared_ptr<const WorkCompletion> DeviceOperations::start(const OperationRequest& request,
                                                              Device& device) {
  auto completion = std::make_shared<WorkCompletion>();
  Status refused = check(request);
  if (refused.ok()) {
    refused = start(request, device, completion);
    // Other ranks make the operation, so this rank cannot go on without it.
    if (refused.scope() == Scope::kGroup) held_.fail(refused);
  }
  if (!refused.ok()) completion->end(std::move(refused));
  return completion;
}

Status DeviceOperations::start(const OperationRequest& request, Device& device,
                               std::shared_ptr<WorkCompletion> completion) {
  if (setup_ == nullptr) PACELINE_TRY(set_up(request, device));
  PACELINE_TRY(held_.queue().check_room(1));
  PACELINE_TRY_ASSIGN(const DeviceCallPlace place, place_of(request, device));
  if (!is_settled_) return defer(request, device, place, std::move(completion));
  if (!deferred_.empty())
    std::erase_if(deferred_, [](const auto& one) { return one->has_ended(); });
  PACELINE_TRY_ASSIGN(OperationStage* const stage,
                      take(request, device, place, std::move(completion)));
  held_.start_staged(*stage);
  return {};
}

// The library registers exit handlers when it is loaded, and when it joins its first group.
Status DeviceOperations::set_up(const OperationRequest& request, Device& device) {
  PACELINE_TRY_ASSIGN(Devices* const devices, devices_for(request));
  const Result<DeviceGroups*> groups =
      held_.parts().uses_device_library
          ? devices->groups()
          : Result<DeviceGroups*>(
                Status(Code::kUnavailable, Scope::kProcess, "PACELINE_NCCL is 0"));
  let_exit_handler_run_first();
  setup_ = std::make_unique<DeviceGroupSetup>(held_, device, groups,
                                              static_cast<DeviceGroupSetup::Owner&>(*this));
  return {};
}

EventPool& DeviceOperations::events_of(Device& device) {
  return events_.try_emplace(&device, device).first->second;
}

// The call is at the end of its stream, as it is now.
Result<DeviceCallPlace> DeviceOperations::place_of(const OperationRequest& request,
                                                   Device& device) {
  DeviceCallPlace place;
  place.deadline = Deadline::after(held_.parts().engine->clock(), held_.queue().timeout()).moment();
  PACELINE_TRY_ASSIGN(place.is_captured, device.is_captured(request.stream));
  if (place.is_captured) return place;
  PACELINE_TRY_ASSIGN(place.called, events_of(device).take());
  if (const Status recorded = device.record(place.called, request.stream); !recorded.ok()) {
    events_of(device).give_back(place.called);
    return recorded;
  }
  return place;
}

Status DeviceOperations::defer(const OperationRequest& request, Device& device,
                               const DeviceCallPlace& place,
                               std::shared_ptr<WorkCompletion> completion) {
  if (place.is_captured)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  call_text(request.signature) +
                      " cannot become part of a graph: it is one of the first operations of its "
                      "communicator on GPU memory; make one outside of the capture before");
  completion->owner = &held_.owner();
  deferred_.push_back(std::make_unique<Deferred>(request, held_.parts().group.size(), device,
                                                 events_of(device), place, std::move(completion)));
  held_.start_staged(*deferred_.back());
  return {};
}

// Hands over the operations that were called meanwhile, in their order. They have their places on
// all ranks, so one that cannot be carried out ends the communicator.
void DeviceOperations::setup_is_over() {
  is_settled_ = true;
  if (!held_.failure().ok()) return;
  let_exit_handler_run_first();
  Status failed = use_group();
  for (const auto& one : deferred_) {
    if (!failed.ok()) break;
    if (one->has_ended()) continue;
    const Result<OperationStage*> stage =
        take(one->request(), one->device(), one->take_place(), one->completion());
    if (stage.ok()) one->become(**stage);
    failed = stage.status();
  }
  if (!failed.ok()) held_.fail(Status(failed.code(), Scope::kGroup, failed.text()));
}

Status DeviceOperations::use_group() {
  std::unique_ptr<DeviceGroup> group = setup_->take_group();
  if (held_.parts().log != nullptr) {
    const std::string how = group != nullptr ? setup_->library_name()
                                             : "through host memory, because " + setup_->why_not();
    held_.parts().log->write(Severity::kInfo, "GPU memory: " + how);
  }
  if (group == nullptr) return {};
  PACELINE_TRY_ASSIGN(group_lane_,
                      DeviceGroupLane::make(held_, setup_->device(), events_of(setup_->device()),
                                            std::move(group)));
  return {};
}

Result<OperationStage*> DeviceOperations::take(const OperationRequest& request, Device& device,
                                               const DeviceCallPlace& place,
                                               std::shared_ptr<WorkCompletion> completion) {
  const Result<DeviceLane*> lane = lane_for(request, device);
  if (!lane.ok()) {
    events_of(device).give_back(place.called);
    return lane.status();
  }
  const std::shared_ptr<const WorkCompletion> after = *lane != last_lane_ ? last_ : after_;
  PACELINE_TRY_ASSIGN(OperationStage* const stage,
                      (*lane)->take(request, place, completion, after));
  after_ = after;
  last_lane_ = *lane;
  last_ = std::move(completion);
  return stage;
}

// The same kind of lane on all ranks.
Result<DeviceLane*> DeviceOperations::lane_for(const OperationRequest& request, Device& device) {
  const bool by_group = group_lane_ != nullptr && held_.parts().determinism == Determinism::kFast &&
                        has_device_calls(request) && setup_->serves(request.signature.type);
  if (by_group && &group_lane_->device() == &device) return group_lane_.get();
  if (by_group)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  call_text(request.signature) + ": the buffers lie in the memory of " +
                      device.name() + ", but this communicator uses " +
                      group_lane_->device().name() + "; make another one, by split()");
  if (const auto found = staged_lanes_.find(&device); found != staged_lanes_.end())
    return found->second.get();
  PACELINE_TRY_ASSIGN(auto made, StagedLane::make(held_, device, events_of(device)));
  return (staged_lanes_[&device] = std::move(made)).get();
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
  if (setup_ != nullptr) setup_->leave();
  if (group_lane_ != nullptr) group_lane_->leave();
  for (const auto& [_, lane] : staged_lanes_) lane->leave();
}

}  // namespace paceline
