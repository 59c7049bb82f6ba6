#include "comm/device/cuda/nccl_groups.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

namespace paceline::cuda {
namespace {

// How long the destructor waits for NCCL to free a communicator.
constexpr auto kFreeingTime = std::chrono::seconds(5);

// ncclDataType_t; -1: NCCL does not have it.
int type_of(DataType type) {
  switch (type) {
    case DataType::kInt8:
      return 0;
    case DataType::kUInt8:
      return 1;
    case DataType::kInt32:
      return 2;
    case DataType::kUInt32:
      return 3;
    case DataType::kInt64:
      return 4;
    case DataType::kUInt64:
      return 5;
    case DataType::kFloat16:
      return 6;
    case DataType::kFloat32:
      return 7;
    case DataType::kFloat64:
      return 8;
    case DataType::kBFloat16:
      return 9;
    case DataType::kInt16:
    case DataType::kUInt16:
      return -1;
  }
  return -1;
}

// ncclRedOp_t
int op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kPreMulSum:
      return 0;
    case ReduceOp::kProd:
      return 1;
    case ReduceOp::kMax:
      return 2;
    case ReduceOp::kMin:
      return 3;
    case ReduceOp::kAvg:
      return 4;
  }
  return 0;
}

bool is_accepted(NcclResult result) { return result == kNcclSuccess || result == kNcclInProgress; }

Code code_of(NcclResult result) {
  switch (result) {
    case kNcclRemoteError:
      return Code::kPeerLost;
    case kNcclInternalError:
    case kNcclInvalidArgument:
    case kNcclInvalidUsage:
      return Code::kInternal;
    default:
      return Code::kUnavailable;
  }
}

Status error(const NcclCalls& calls, NcclComm comm, const std::string& what, NcclResult result) {
  std::string text = "NCCL cannot " + what + ": " + calls.error_string(result);
  const char* const last = calls.last_error != nullptr ? calls.last_error(comm) : nullptr;
  if (last != nullptr && last[0] != '\0') text += std::string(" (") + last + ")";
  return Status(code_of(result), Scope::kGroup, text);
}

// A communicator, and who frees it. NCCL may take long to free it, and may never end if another
// rank is stuck, so a thread of its own does so, and owns this together with the group.
class Communicator {
 public:
  Communicator(const NcclCalls& of, Device& device) : calls(of), device_(device) {}

  void free(bool aborts) {
    (void)device_.run_in_context([&] { (void)(aborts ? calls.abort(comm) : calls.destroy(comm)); });
    const std::lock_guard lock(mutex_);
    is_free_ = true;
    freed_.notify_all();
  }
  bool is_free() const {
    const std::lock_guard lock(mutex_);
    return is_free_;
  }
  void wait_until_free(std::chrono::nanoseconds most) const {
    std::unique_lock lock(mutex_);
    (void)freed_.wait_for(lock, most, [this] { return is_free_; });
  }

  const NcclCalls calls;
  NcclComm comm = nullptr;

 private:
  Device& device_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::condition_variable freed_;
  bool is_free_ = false;
};

class NcclGroup final : public DeviceGroup {
 public:
  NcclGroup(const NcclCalls& calls, Device& device)
      : device_(device), communicator_(std::make_shared<Communicator>(calls, device)) {}

  ~NcclGroup() override {
    if (communicator_->comm == nullptr) return;
    if (!is_freed_) free(is_stopped_ || !failure_.ok());
    communicator_->wait_until_free(kFreeingTime);
  }

  Status join(const DeviceGroupId& id, int rank, int ranks) {
    NcclId nccl_id{};
    std::memcpy(nccl_id.internal, id.bytes.data(), sizeof nccl_id.internal);
    NcclConfig config{};
    NcclResult result = kNcclSuccess;
    const Status called = device_.run_in_context(
        [&] { result = calls().join(&communicator_->comm, ranks, nccl_id, rank, &config); });
    if (!called.ok()) return called;
    if (is_accepted(result)) return {};
    const Status failed = error(calls(), communicator_->comm, "join its communicator", result);
    communicator_->comm = nullptr;
    return failed;
  }

  paceline::Result<bool> is_ready() override {
    if (!failure_.ok()) return failure_;
    NcclResult state = kNcclSuccess;
    const NcclResult asked = calls().async_error(communicator_->comm, &state);
    const NcclResult result = asked != kNcclSuccess ? asked : state;
    is_idle_ = result == kNcclSuccess;
    if (is_accepted(result)) return is_idle_;
    return fail(error(calls(), communicator_->comm, "go on", result));
  }

  Status enqueue(std::span<const DeviceCall> device_calls, DeviceStream stream) override {
    if (!failure_.ok()) return failure_;
    is_idle_ = false;
    NcclResult result = kNcclSuccess;
    const Status called = device_.run_in_context([&] {
      result = calls().group_start();
      for (const DeviceCall& call : device_calls)
        if (is_accepted(result)) result = make(call, stream);
      const NcclResult ended = calls().group_end();
      if (is_accepted(result)) result = ended;
    });
    if (!called.ok()) return fail(called);
    if (is_accepted(result)) return {};
    return fail(error(calls(), communicator_->comm, "enqueue an operation", result));
  }

  void stop() override {
    if (std::exchange(is_stopped_, true)) return;
    if (failure_.ok()) failure_ = Status(Code::kCancelled, Scope::kGroup, "NCCL was stopped");
    // While NCCL is at a call, or has failed at one, only the end of the communicator ends what was
    // enqueued. The same where it cannot revoke.
    if (!is_idle_ || calls().revoke == nullptr ||
        !is_accepted(calls().revoke(communicator_->comm, 0)))
      free(true);
  }
  bool has_stopped() const override {
    return is_stopped_ && (!is_freed_ || communicator_->is_free());
  }

 private:
  const NcclCalls& calls() const { return communicator_->calls; }

  Status fail(Status why) {
    failure_ = std::move(why);
    return failure_;
  }

  NcclResult make(const DeviceCall& call, DeviceStream stream) {
    const NcclComm comm = communicator_->comm;
    const int type = type_of(call.type);
    int op = op_of(call.op);
    if (call.factor) {
      auto element = *call.factor;
      const NcclResult made =
          calls().make_factor(&op, element.data(), type, kNcclScalarHostImmediate, comm);
      if (made != kNcclSuccess) return made;
    }
    const NcclResult result = make(call, type, op, comm, stream);
    if (call.factor) (void)calls().destroy_factor(op, comm);
    return result;
  }

  NcclResult make(const DeviceCall& call, int type, int op, NcclComm comm, DeviceStream stream) {
    switch (call.kind) {
      case DeviceCall::Kind::kAllReduce:
        return calls().all_reduce(call.in, call.out, call.count, type, op, comm, stream);
      case DeviceCall::Kind::kReduce:
        return calls().reduce(call.in, call.out, call.count, type, op, call.peer, comm, stream);
      case DeviceCall::Kind::kBroadcast:
        return calls().broadcast(call.in, call.out, call.count, type, call.peer, comm, stream);
      case DeviceCall::Kind::kAllGather:
        return calls().all_gather(call.in, call.out, call.count, type, comm, stream);
      case DeviceCall::Kind::kReduceScatter:
        return calls().reduce_scatter(call.in, call.out, call.count, type, op, comm, stream);
      case DeviceCall::Kind::kSend:
        return calls().send(call.in, call.count, type, call.peer, comm, stream);
      case DeviceCall::Kind::kReceive:
        return calls().receive(call.out, call.count, type, call.peer, comm, stream);
    }
    return kNcclInternalError;
  }

  void free(bool aborts) {
    is_freed_ = true;
    std::thread([communicator = communicator_, aborts] { communicator->free(aborts); }).detach();
  }

  Device& device_;
  const std::shared_ptr<Communicator> communicator_;
  Status failure_;
  bool is_idle_ = false;  // not at a call, when it was last asked
  bool is_stopped_ = false;
  bool is_freed_ = false;  // a thread frees it
};

}  // namespace

std::string NcclGroups::name() const {
  const auto version = static_cast<int>(this->version());
  const int hundreds = version / 100;
  return "NCCL " + std::to_string(hundreds / 100) + "." + std::to_string(hundreds % 100) + "." +
         std::to_string(version % 100);
}

std::uint32_t NcclGroups::version() const {
  int version = 0;
  return calls_.version(&version) == kNcclSuccess ? static_cast<std::uint32_t>(version) : 0;
}

bool NcclGroups::serves(DataType type) const { return type_of(type) >= 0; }

paceline::Result<DeviceGroupId> NcclGroups::make_id() {
  NcclId made{};
  if (const NcclResult result = calls_.make_id(&made); result != kNcclSuccess)
    return error(calls_, nullptr, "make the id of a communicator", result);
  DeviceGroupId id;
  std::memcpy(id.bytes.data(), made.internal, sizeof made.internal);
  return id;
}

paceline::Result<std::unique_ptr<DeviceGroup>> NcclGroups::join(Device& device,
                                                                const DeviceGroupId& id, int rank,
                                                                int ranks) {
  // It would make each call of the module wait for other ranks.
  if (const char* const blocks = std::getenv("NCCL_COMM_BLOCKING");
      blocks != nullptr && std::string_view(blocks) != "0")
    return Status(Code::kUnavailable, Scope::kGroup,
                  "NCCL_COMM_BLOCKING is " + std::string(blocks));
  auto group = std::make_unique<NcclGroup>(calls_, device);
  if (const Status joined = group->join(id, rank, ranks); !joined.ok()) return joined;
  return std::unique_ptr<DeviceGroup>(std::move(group));
}

}  // namespace paceline::cuda
