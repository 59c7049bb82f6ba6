#include "collectives/gradient/device_mirror.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "collectives/group_members.h"
#include "comm/base/argument_error.h"
#include "comm/base/try.h"
#include "comm/device/process_devices.h"
#include "comm/exit.h"

namespace paceline {
namespace {

// Copies take milliseconds. They take longer only if a caller's stream or the device is stuck.
constexpr Duration kDrainTime = std::chrono::seconds(1);

// Null: those of the process.
Result<Devices*> devices_or(Devices* devices) {
  if (devices != nullptr) return devices;
  if (!ProcessDevices::of_process().has_driver())
    return Status(Code::kUnavailable, Scope::kProcess,
                  "gradients on a device need a GPU, but this process has not loaded the driver "
                  "libcuda.so.1; choose a GPU before");
  return ProcessDevices::of_process().open();
}

}  // namespace

// ---- Memory ----

Result<std::unique_ptr<DeviceMirror>> DeviceMirror::make(HeldCommunicator& held,
                                                         GradientArena& arena) {
  PACELINE_TRY_ASSIGN(Devices* const devices, devices_or(held.parts().devices));
  Result<Device*> device = devices->device_of_stream(nullptr);
  PACELINE_TRY(device.status().with_context("gradients on a device need a current GPU"));
  let_exit_handler_run_first();
  std::unique_ptr<DeviceMirror> mirror(new DeviceMirror(held, *devices, **device));
  PACELINE_TRY(mirror->allocate(arena));
  const Status filled = mirror->fill_with_zeros();
  if (filled.ok()) return mirror;
  mirror->leave(arena);
  return filled;
}

DeviceMirror::DeviceMirror(HeldCommunicator& held, Devices& devices, Device& device)
    : held_(held),
      engine_(*held.parts().engine),
      devices_(devices),
      device_(device),
      events_(device),
      copied_within_(device, events_),
      before_(device, events_),
      after_(device, events_) {}

Status DeviceMirror::allocate(const GradientArena& arena) {
  PACELINE_TRY_ASSIGN(down_, device_.make_stream());
  PACELINE_TRY_ASSIGN(up_, device_.make_stream());
  if (arena.bytes() == 0) return {};
  PACELINE_TRY_ASSIGN(memory_, device_.make_memory(arena.bytes()));
  const std::span<std::byte> host(arena.at(0), arena.bytes());
  PACELINE_TRY(device_.pin(host));
  host_ = host;
  return {};
}

// By a copy of the arena's zeros.
Status DeviceMirror::fill_with_zeros() {
  if (host_.empty()) return {};
  {
    const Engine::Baton baton = engine_.hold();
    begin_step(0, 1);
    const ByteSpan all{.begin = 0, .bytes = host_.size()};
    PACELINE_TRY(copy_up(0, std::span(&all, 1)));
  }
  // Its own deadline ends it.
  const auto is_done = [this] { return have_returned() || !held_.failure().ok(); };
  while (!engine_.wait(is_done, Deadline::after(engine_.clock(), kDrainTime)))
    if (engine_.is_stopped()) return exit_error();
  const Engine::Baton baton = engine_.hold();
  return held_.failure();
}

DeviceMirror::~DeviceMirror() {
  if (is_left_behind_) {
    events_.leave_behind();
    return;
  }
  for (const DeviceEvent event : written_) events_.give_back(event);
  events_.give_back(up_after_);
  if (!host_.empty()) device_.unpin(host_);
  if (memory_ != nullptr) device_.destroy_memory(memory_);
  if (down_ != nullptr) device_.destroy_stream(down_);
  if (up_ != nullptr) device_.destroy_stream(up_);
}

void DeviceMirror::drain() {
  const auto is_done = [this] { return is_still(); };
  (void)engine_.wait(is_done, Deadline::after(engine_.clock(), 3 * kDrainTime));
}

void DeviceMirror::leave(GradientArena& arena) {
  {
    const Engine::Baton baton = engine_.hold();
    drained_by_ = std::min(drained_by_, engine_.clock().now() + kDrainTime);
  }
  drain();
  const Engine::Baton baton = engine_.hold();
  if (!is_still()) abandon();
  stop_driving();
  // After exit() the driver may be gone.
  is_left_behind_ = is_left_behind_ || engine_.is_stopped();
  if (is_left_behind_) arena.leave_behind();
}

// ---- Checks ----

Status DeviceMirror::check_stream(DeviceStream stream) {
  return note_found(look_at_stream(stream));
}

Status DeviceMirror::check_address(const void* address) {
  return note_found(look_at_address(address));
}

Status DeviceMirror::note_found(Status how) {
  if (how.ok() || how.code() == Code::kInvalidArgument) return how;
  const Engine::Baton baton = engine_.hold();
  return note(std::move(how));
}

Status DeviceMirror::look_at_stream(DeviceStream stream) const {
  if (stream != nullptr) {
    PACELINE_TRY_ASSIGN(const Device* const of_stream, devices_.device_of_stream(stream));
    if (of_stream != &device_)
      return argument_error("the gradients lie in the memory of " + device_.name() +
                            ", and the stream is one of " + of_stream->name());
  }
  PACELINE_TRY_ASSIGN(const bool is_captured, device_.is_captured(stream));
  if (is_captured)
    return argument_error(
        "calls of a gradient pipeline cannot become part of a graph: call them outside of the "
        "capture");
  return {};
}

Status DeviceMirror::look_at_address(const void* address) const {
  PACELINE_TRY_ASSIGN(const Device* const device, devices_.device_of(address));
  if (device == &device_) return {};
  return argument_error("the gradient must lie in the memory of " + device_.name() +
                        "; it lies in " +
                        (device == nullptr ? "host memory" : "that of " + device->name()));
}

// ---- Progress ----

bool DeviceMirror::drive(TimePoint now) {
  bool moved = land_down();
  moved |= land_up();
  moved |= land(copied_within_);
  moved |= land(before_);
  moved |= land(after_);
  check_deadlines(now);
  if (!held_.failure().ok()) drained_by_ = std::min(drained_by_, now + kDrainTime);
  if (now >= drained_by_ && !is_still()) abandon();
  wake_at_ = is_still() ? TimePoint::max() : pace_.next(moved, now);
  if (is_still()) stop_driving();
  return moved;
}

bool DeviceMirror::land_down() {
  bool moved = false;
  while (!downs_.empty() && has_passed(downs_.front().arrived)) {
    const Down down = downs_.front();
    downs_.pop_front();
    events_.give_back(down.written);
    events_.give_back(down.arrived);
    if (held_.failure().ok()) owner_->has_arrived(down.gradient);
    moved = true;
  }
  return moved;
}

bool DeviceMirror::land_up() {
  bool moved = false;
  while (!ups_.empty() && has_passed(ups_.front().returned)) {
    events_.give_back(ups_.front().returned);
    ups_.pop_front();
    moved = true;
  }
  return moved;
}

bool DeviceMirror::land(StreamMarks& marks) {
  const Result<bool> moved = marks.look();
  if (!moved.ok()) (void)note(moved.status());
  return moved.ok() && *moved;
}

bool DeviceMirror::has_passed(DeviceEvent event) {
  const Result<bool> passed = device_.has_passed(event);
  if (!passed.ok()) (void)note(passed.status());
  return passed.ok() && *passed;
}

void DeviceMirror::check_deadlines(TimePoint now) {
  if (!held_.failure().ok()) return;
  if (!downs_.empty() && now >= downs_.front().deadline) {
    const Down& late = downs_.front();
    const std::string name = owner_->named(late.gradient);
    (void)note(Status(Code::kTimeout, Scope::kGroup,
                      has_passed(late.written)
                          ? "the copy of " + name + " from " + device_.name() +
                                " has not ended within the timeout"
                          : "the work before ready() of " + name + " on its stream of " +
                                device_.name() + " has not ended within the timeout"));
  } else if (!ups_.empty() && now >= ups_.front().deadline) {
    (void)note(Status(Code::kTimeout, Scope::kGroup,
                      "the copies of reduced gradients to " + device_.name() +
                          " have not ended within the timeout"));
  } else if (after_.is_late(now)) {
    (void)note(Status(
        Code::kTimeout, Scope::kGroup,
        "kernels for reduced gradients have not ended within the timeout on " + device_.name()));
  }
}

// The device or a stream is stuck, or does not answer.
void DeviceMirror::abandon() {
  downs_.clear();
  ups_.clear();
  copied_within_.abandon();
  before_.abandon();
  after_.abandon();
  is_left_behind_ = true;
}

// An error of the device: it may not have recorded the events of what it has got.
Status DeviceMirror::note(Status how) {
  if (how.ok()) return how;
  if (how.code() == Code::kUnavailable) abandon();
  held_.fail(error_of_this_rank(held_.parts().group, how));
  return held_.failure();
}

void DeviceMirror::keep_driven() {
  pace_.hurry();
  wake_at_ = TimePoint::min();
  if (std::exchange(is_attached_, true)) return;
  engine_.attach(*this);
  engine_.begin_background();
}

void DeviceMirror::stop_driving() {
  if (!std::exchange(is_attached_, false)) return;
  engine_.detach(*this);
  engine_.end_background();
}

TimePoint DeviceMirror::deadline() const {
  return Deadline::after(engine_.clock(), held_.queue().timeout()).moment();
}

}  // namespace paceline
