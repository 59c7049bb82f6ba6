#include "collectives/device_lane.h"

#include <utility>

#include "collectives/group_members.h"
#include "comm/base/try.h"

namespace paceline {

std::string call_text(const Signature& signature) {
  const std::string text = signature.to_string();
  const std::size_t end = text.find(')');
  return end != std::string::npos ? text.substr(0, end + 1) : text.substr(0, text.find(' '));
}

DeviceLane::DeviceLane(HeldCommunicator& held, Device& device, EventPool& events,
                       Duration drain_time)
    : held_(held),
      device_(device),
      engine_(*held.parts().engine),
      events_(events),
      drain_time_(drain_time) {}

// ---- Operations ----

Result<OperationStage*> DeviceLane::add(std::unique_ptr<LaneOperation> operation,
                                        const DeviceCallPlace& place,
                                        std::shared_ptr<WorkCompletion> completion,
                                        std::shared_ptr<const WorkCompletion> after) {
  if (!place.is_captured) {
    const Result<DeviceEvent> finished = events_.take();
    if (!finished.ok()) events_.give_back(place.called);
    PACELINE_TRY(finished.status());
    operation->finished = *finished;
  }
  operation->called = place.called;
  operation->deadline = place.deadline;
  operation->completion = std::move(completion);
  operation->after = std::move(after);
  LaneOperation& added = *operations_.emplace_back(std::move(operation));
  added.completion->order = this;
  added.completion->owner = &held_.owner();
  engine_.begin_background();
  if (!std::exchange(is_attached_, true)) engine_.attach(*this);
  pace_.hurry();
  wake_at_ = TimePoint::min();
  return &added;
}

const LaneOperation* DeviceLane::operation_of(const Completion& completion) const {
  const auto is_its = [&](const auto& one) { return one->completion.get() == &completion; };
  const auto found = std::ranges::find_if(operations_, is_its);
  return found == operations_.end() ? nullptr : found->get();
}

std::unique_ptr<LaneOperation> DeviceLane::remove_first() {
  std::unique_ptr<LaneOperation> first = std::move(operations_.front());
  operations_.pop_front();
  events_.give_back(first->called);
  events_.give_back(first->finished);
  held_.queue().count_wait(*first->completion, engine_.clock().now());
  first->completion->order = nullptr;
  engine_.end_background();
  return first;
}

void DeviceLane::end_first() {
  const std::unique_ptr<LaneOperation> first = remove_first();
  first->completion->end(first->failure.ok() ? failure_ : first->failure);
}

// ---- Progress ----

void DeviceLane::stop_driving() {
  if (std::exchange(is_attached_, false)) engine_.detach(*this);
}

bool DeviceLane::has_passed(DeviceEvent event) {
  if (is_lost_) return false;
  const Result<bool> passed = device_.has_passed(event);
  if (passed.ok()) return *passed;
  is_lost_ = true;
  note(passed.status());
  return false;
}

// It ends the communicator when the lane is driven next. A lost peer has no name yet.
void DeviceLane::note(const Status& how) {
  if (how.ok() || !failure_.ok()) return;
  const Group& group = held_.parts().group;
  failure_ = how.code() == Code::kPeerLost ? how.with_context(rank_text(group, group.rank))
                                           : error_of_this_rank(group, how);
  const TimePoint drained_by = engine_.clock().now() + drain_time_;
  for (const auto& operation : operations_)
    operation->drained_by = std::min(operation->drained_by, drained_by);
}

void DeviceLane::leave() {
  const auto is_done = [this] { return operations_.empty(); };
  const bool done = engine_.wait(is_done, Deadline::after(engine_.clock(), 3 * drain_time_));
  const Engine::Baton baton = engine_.hold();
  stop_driving();
  // After exit() the driver may be gone.
  is_left_behind_ = is_left_behind_ || !done || engine_.is_stopped();
  if (done) return;
  note(Status(Code::kTimeout, Scope::kGroup, device_.name() + " has not ended its work"));
  while (!operations_.empty()) end_first();
}

}  // namespace paceline
