// The part of GradientCore for gradients in device memory: it copies them before and after buckets,
// or lets a library such as NCCL reduce them there.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "collectives/gradient/gradient_core.h"
#include "comm/base/argument_error.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// DeviceGroupLane waits up to 5 s for a library that it has stopped.
constexpr Duration kLibraryTime = std::chrono::seconds(10);

}  // namespace

Status GradientCore::check_stream(DeviceStream stream) const {
  if (mirror_ != nullptr) return mirror_->check_stream(stream);
  if (stream == nullptr) return {};
  return argument_error(
      "the stream must be NULL: the gradients of this pipeline lie in host memory");
}

// Nothing on the device adds.
Status GradientCore::check_from(std::size_t parameter, const void* gradient) const {
  PACELINE_TRY(check(parameter));
  if (arena_.of(parameter).empty()) return {};
  if (gradient == nullptr) return argument_error(named(parameter) + ": the pointer is null");
  if (is_accumulating_ || is_touched_[parameter] || readiness_.uses(parameter) > 1)
    return argument_error(named(parameter) +
                          ": with on_device, ready() takes no address during micro-steps or for a "
                          "parameter with several uses; add to the pipeline's memory instead");
  return mirror_->check_address(gradient);
}

// Backward adds to what lies on the device. So only the last use of the last micro-step is copied,
// and is marked when the copy has arrived.
Status GradientCore::ready_on_device(std::size_t parameter, const void* from, DeviceStream stream) {
  if (has_failed_.load(std::memory_order_acquire)) return told_failure();
  PACELINE_TRY(check(parameter));
  PACELINE_TRY(mirror_->check_stream(stream));
  PACELINE_TRY(begin_ready(parameter));
  const Engine::Baton baton = engine_->hold();
  if (!failure_.ok()) return failure_;
  const bool is_handed_in = !is_accumulating_ && mirror_->handed_in()[parameter];
  if (is_handed_in || readiness_.is_marked(parameter)) return ready_too_often(parameter);
  if (by_library_) return mark_on_device(parameter, from, stream);
  const bool is_empty = arena_.of(parameter).empty();
  if (!is_empty) PACELINE_TRY(mirror_->note_written(parameter, stream));
  if (!is_empty && !is_accumulating_ && readiness_.is_last_use(parameter))
    return copy_down(parameter, from);
  (void)readiness_.mark(parameter, since_opened_us());
  return {};
}

Status GradientCore::copy_down(std::size_t parameter, const void* from) {
  return mirror_->copy_down(parameter, bytes_of(parameter), from);
}

ByteSpan GradientCore::bytes_of(std::size_t parameter) const {
  return {.begin = arena_.place(parameter).begin, .bytes = arena_.of(parameter).size()};
}

// Kernels that have been enqueued come before the operation of the bucket, so it can start now.
Status GradientCore::mark_on_device(std::size_t parameter, const void* from, DeviceStream stream) {
  const ByteSpan place = bytes_of(parameter);
  const bool is_elsewhere = from != nullptr && from != mirror_->at(place.begin);
  if (is_elsewhere && place.bytes > 0) PACELINE_TRY(mirror_->copy_within(place, from, stream));
  if (place.bytes > 0) PACELINE_TRY(mirror_->note_written(parameter, stream));
  const auto marked = readiness_.mark(parameter, since_opened_us());
  if (marked == Readiness::Marked::kWholeBucket && !is_accumulating_) engine_->nudge();
  return {};
}

// In a driver. An error of the device has ended the communicator, which refuses the operation then.
std::shared_ptr<const Completion> GradientCore::start_operation(const OperationRequest& request) {
  if (!by_library_) return held_.start(request);
  // The operation may not come to pass, after kernels before it were enqueued.
  (void)mirror_->watch(request.stream);
  return own_.on_devices().start(request, mirror_->device());
}

// In a driver: the engine looks at the buckets next.
void GradientCore::has_arrived(std::size_t gradient) {
  readiness_.mark_rest(gradient, since_opened_us());
}

// Gradients that earlier uses or micro-steps have touched are copied. The others count as zeros,
// for which the arena must not be in use by copies of the step before. What the caller's stream
// still does with their memory, or did before ready() of other gradients, comes before the copies
// up.
Status GradientCore::mark_unused_on_device(DeviceStream stream) {
  if (by_library_) return clear_unused(stream);
  const double since_us = since_opened_us();  // the same for all: see mark_unused()
  std::vector<std::size_t> unused;
  {
    const Engine::Baton baton = engine_->hold();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (is_frozen_[i] || readiness_.is_marked(i) || mirror_->handed_in()[i]) continue;
      if (!has_data(i))
        unused.push_back(i);
      else if (!arena_.of(i).empty())
        PACELINE_TRY(copy_down(i, nullptr));
      else
        readiness_.mark_rest(i, since_us);
    }
    if (unused.empty()) return {};
    PACELINE_TRY(mirror_->order_up_after(stream));
  }
  PACELINE_TRY(drive_until([this] { return mirror_->have_returned(); }));
  for (const std::size_t i : unused) {
    const std::span<std::byte> gradient = arena_.of(i);
    if (!gradient.empty()) std::memset(gradient.data(), 0, gradient.size());
    readiness_.mark_rest(i, since_us);
  }
  return {};
}

// The same for a library: zeros are copied to the device, before the operations of their buckets.
Status GradientCore::clear_unused(DeviceStream stream) {
  const double since_us = since_opened_us();
  const Engine::Baton baton = engine_->hold();
  std::vector<ByteSpan> unused;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (!is_frozen_[i] && !readiness_.is_marked(i) && !has_data(i) && !arena_.of(i).empty())
      unused.push_back(bytes_of(i));
  if (!unused.empty()) PACELINE_TRY(mirror_->clear(unused, stream));
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (!is_frozen_[i] && !readiness_.is_marked(i)) readiness_.mark_rest(i, since_us);
  return {};
}

// Each bucket that has been reduced since the last call.
void GradientCore::copy_up() {
  for (std::size_t bucket = 0; bucket < schedule_.buckets.size() && failure_.ok(); ++bucket) {
    if (mirror_->is_enqueued(bucket) || !line_.is_finished(bucket)) continue;
    const Status copied = mirror_->copy_up(bucket, schedule_.buckets[bucket].spans);
    if (!copied.ok()) fail(copied);
  }
}

bool GradientCore::is_back(std::size_t bucket, WaitingStream stream) const {
  if (!copies()) return true;
  return stream ? mirror_->is_enqueued(bucket) : mirror_->has_returned(bucket);
}

// The line is done, so all buckets are enqueued.
bool GradientCore::are_back(WaitingStream stream) const {
  return !copies() || stream || mirror_->have_returned();
}

Status GradientCore::let_wait(std::span<const std::size_t> buckets, WaitingStream stream) {
  if (mirror_ == nullptr || !stream) return {};
  const Engine::Baton baton = engine_->hold();
  for (const std::size_t bucket : buckets) PACELINE_TRY(mirror_->let_wait(bucket, *stream));
  return {};
}

Status GradientCore::let_wait_for_all(WaitingStream stream) {
  if (mirror_ == nullptr || !stream) return {};
  const Engine::Baton baton = engine_->hold();
  return mirror_->let_wait(*stream);
}

// Memory of the caller may be freed after an error.
void GradientCore::drain_after_failure() {
  if (mirror_ == nullptr || own_.failure().ok()) return;
  mirror_->drain();
  (void)drain_library();
}

// False: its operations may still use the memory. They end soon after an error.
bool GradientCore::drain_library() {
  if (!by_library_) return true;
  const auto is_still = [this] { return line_.is_still(); };
  const bool ended = engine_->wait(is_still, Deadline::after(engine_->clock(), kLibraryTime));
  const Engine::Baton baton = engine_->hold();
  return ended && !own_.on_devices().is_left_behind();
}

}  // namespace paceline
