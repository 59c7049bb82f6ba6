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
      events_(device) {}

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

// ---- Down ----

void DeviceMirror::begin_step(std::size_t gradients, std::size_t buckets) {
  written_.resize(gradients);
  handed_in_.assign(gradients, false);
  copied_up_.assign(buckets, false);
  has_copied_down_ = false;
}

Status DeviceMirror::note_written(std::size_t gradient, DeviceStream stream) {
  PACELINE_TRY(held_.failure());
  if (written_.size() <= gradient) written_.resize(gradient + 1);
  DeviceEvent& written = written_[gradient];
  if (written == nullptr) {
    Result<DeviceEvent> event = events_.take();
    PACELINE_TRY(note(event.status()));
    written = *event;
  }
  return note(device_.record(written, stream));
}

Status DeviceMirror::copy_down(std::size_t gradient, const ByteSpan& place, const void* from) {
  PACELINE_TRY(held_.failure());
  const Result<DeviceEvent> arrived = events_.take();
  PACELINE_TRY(note(arrived.status()));
  const Down& down = downs_.emplace_back(Down{.gradient = gradient,
                                              .written = std::exchange(written_[gradient], nullptr),
                                              .arrived = *arrived,
                                              .deadline = deadline()});
  handed_in_[gradient] = true;
  keep_driven();
  return note(enqueue_down(place, from != nullptr ? from : at(place.begin), down));
}

// The copies up of the step before must have read the arena.
Status DeviceMirror::enqueue_down(const ByteSpan& place, const void* from, const Down& down) {
  if (!std::exchange(has_copied_down_, true) && !ups_.empty())
    PACELINE_TRY(device_.let_wait(down_, ups_.back().returned));
  PACELINE_TRY(device_.let_wait(down_, down.written));
  PACELINE_TRY(device_.copy_down(host_.data() + place.begin, from, place.bytes, down_));
  return device_.record(down.arrived, down_);
}

// ---- On the device ----

Status DeviceMirror::copy_within(const ByteSpan& place, const void* from, DeviceStream stream) {
  PACELINE_TRY(held_.failure());
  PACELINE_TRY(note(device_.copy_within(at(place.begin), from, place.bytes, stream)));
  return note(watch_end(stream));
}

// For drain() and leave().
Status DeviceMirror::watch_end(DeviceStream stream) {
  PACELINE_TRY_ASSIGN(const DeviceEvent ended, events_.take());
  watched_.push_back(ended);
  keep_driven();
  return device_.record(ended, stream);
}

Status DeviceMirror::order_after(std::span<const std::size_t> gradients) {
  PACELINE_TRY(held_.failure());
  for (const std::size_t gradient : gradients)
    if (written_[gradient] != nullptr)
      PACELINE_TRY(note(device_.let_wait(down_, written_[gradient])));
  return {};
}

Status DeviceMirror::clear(std::span<const ByteSpan> places, DeviceStream stream) {
  PACELINE_TRY(held_.failure());
  PACELINE_TRY(note(let_down_wait_for(stream)));
  for (const DeviceEvent written : written_)
    if (written != nullptr) PACELINE_TRY(note(device_.let_wait(down_, written)));
  for (const ByteSpan& place : places)
    PACELINE_TRY(
        note(device_.copy_up(at(place.begin), host_.data() + place.begin, place.bytes, down_)));
  return note(watch_end(down_));
}

Status DeviceMirror::let_down_wait_for(DeviceStream stream) {
  PACELINE_TRY_ASSIGN(const DeviceEvent reached, events_.take());
  Status how = device_.record(reached, stream);
  if (how.ok()) how = device_.let_wait(down_, reached);
  events_.give_back(reached);
  return how;
}

// ---- Up ----

Status DeviceMirror::order_up_after(DeviceStream stream) {
  PACELINE_TRY(held_.failure());
  if (up_after_ == nullptr) {
    const Result<DeviceEvent> event = events_.take();
    PACELINE_TRY(note(event.status()));
    up_after_ = *event;
  }
  return note(device_.record(up_after_, stream));
}

Status DeviceMirror::copy_up(std::size_t bucket, std::span<const ByteSpan> spans) {
  PACELINE_TRY(held_.failure());
  const Result<DeviceEvent> returned = events_.take();
  PACELINE_TRY(note(returned.status()));
  ups_.push_back({.bucket = bucket, .returned = *returned, .deadline = deadline()});
  copied_up_[bucket] = true;
  keep_driven();
  return note(enqueue_up(spans, *returned));
}

Status DeviceMirror::enqueue_up(std::span<const ByteSpan> spans, DeviceEvent returned) {
  if (up_after_ != nullptr) {
    for (const Down& down : downs_) PACELINE_TRY(device_.let_wait(up_, down.written));
    PACELINE_TRY(device_.let_wait(up_, up_after_));
    events_.give_back(std::exchange(up_after_, nullptr));
  }
  for (const ByteSpan& span : spans)
    PACELINE_TRY(device_.copy_up(at(span.begin), host_.data() + span.begin, span.bytes, up_));
  return device_.record(returned, up_);
}

// Null: it has returned.
const DeviceMirror::Up* DeviceMirror::up_of(std::size_t bucket) const {
  const auto found = std::ranges::find(ups_, bucket, &Up::bucket);
  return found == ups_.end() ? nullptr : &*found;
}

// An earlier step may have had a bucket with the same number.
Status DeviceMirror::let_wait(std::size_t bucket, DeviceStream stream) {
  PACELINE_TRY(held_.failure());
  const auto found = std::ranges::find(ups_.rbegin(), ups_.rend(), bucket, &Up::bucket);
  return found == ups_.rend() ? Status() : note(device_.let_wait(stream, found->returned));
}

Status DeviceMirror::let_wait(DeviceStream stream) {
  PACELINE_TRY(held_.failure());
  return ups_.empty() ? Status() : note(device_.let_wait(stream, ups_.back().returned));
}

// ---- Progress ----

bool DeviceMirror::drive(TimePoint now) {
  bool moved = land_down();
  moved |= land_up();
  moved |= land_watched();
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

bool DeviceMirror::land_watched() {
  bool moved = false;
  while (!watched_.empty() && has_passed(watched_.front())) {
    events_.give_back(watched_.front());
    watched_.pop_front();
    moved = true;
  }
  return moved;
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
  }
}

// The device or a stream is stuck, or does not answer.
void DeviceMirror::abandon() {
  downs_.clear();
  ups_.clear();
  watched_.clear();
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
