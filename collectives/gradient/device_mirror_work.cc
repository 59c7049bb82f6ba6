// The work that a DeviceMirror enqueues on the device.
#include <algorithm>
#include <utility>

#include "collectives/gradient/device_mirror.h"
#include "collectives/gradient/kernels/findings.h"
#include "comm/base/try.h"

namespace paceline {

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
  keep_driven();
  return note(copied_within_.add(stream, TimePoint::max()).status());
}

Status DeviceMirror::launch_bytes(const Kernel& kernel, std::span<const std::byte> arguments,
                                  DeviceStream stream) {
  PACELINE_TRY(held_.failure());
  return note(device_.launch(
      {.kernel = kernel, .blocks = on_device::kBlocks, .arguments = arguments}, stream));
}

Status DeviceMirror::watch(DeviceStream stream) {
  PACELINE_TRY(held_.failure());
  keep_driven();
  StreamMarks& marks = stream == up_ ? after_ : before_;
  return note(marks.add(stream, TimePoint::max()).status());
}

Result<std::uint64_t> DeviceMirror::mark_after() {
  PACELINE_TRY(held_.failure());
  keep_driven();
  Result<std::uint64_t> mark = after_.add(up_, deadline());
  PACELINE_TRY(note(mark.status()));
  return mark;
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
  return watch(down_);
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

}  // namespace paceline
