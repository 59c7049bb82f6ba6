#include "collectives/gradient/device_looks.h"

#include <algorithm>
#include <cstring>

#include "collectives/gradient/kernels/image.h"
#include "collectives/gradient/kernels/look.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

using on_device::Findings;

constexpr std::size_t kLookBytes = on_device::kBlocks * sizeof(Findings);

Kernel look_kernel(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return gradient_kernel(GradientKernel::look_float16);
    case DataType::kBFloat16:
      return gradient_kernel(GradientKernel::look_bfloat16);
    case DataType::kFloat64:
      return gradient_kernel(GradientKernel::look_float64);
    default:
      return gradient_kernel(GradientKernel::look_float32);
  }
}

}  // namespace

DeviceLooks::DeviceLooks(DeviceMirror& mirror) : mirror_(mirror), pinned_(mirror.device()) {}

DeviceLooks::~DeviceLooks() {
  if (mirror_.is_left_behind()) {
    pinned_.leave_behind();
    return;
  }
  if (!host_.empty()) pinned_.give_back(host_);
  for (std::byte* const memory : allocated_) mirror_.device().destroy_memory(memory);
}

std::size_t DeviceLooks::offset_of(std::size_t bucket, When when) {
  return (2 * bucket + (when == When::kAfter ? 1 : 0)) * kLookBytes;
}

Status DeviceLooks::set_buckets(std::size_t buckets) {
  if (buckets <= room_) return {};
  const std::size_t bytes = 2 * buckets * kLookBytes;
  const Result<std::byte*> memory = mirror_.device().make_memory(bytes);
  PACELINE_TRY(mirror_.note(memory.status()));
  allocated_.push_back(*memory);
  const Result<std::span<std::byte>> host = pinned_.take(bytes);
  PACELINE_TRY(mirror_.note(host.status()));
  if (!host_.empty()) pinned_.give_back(host_);
  host_ = *host;
  room_ = buckets;
  return {};
}

Status DeviceLooks::begin(std::size_t bucket, When when, std::span<const ByteSpan> spans,
                          DataType type) {
  for (const ByteSpan& span : spans) {
    const on_device::LookArguments arguments{.elements = mirror_.at(span.begin),
                                             .bytes = span.bytes,
                                             .offset = span.begin,
                                             .findings = place(bucket, when),
                                             .goes_on = &span == spans.data() ? 0u : 1u};
    PACELINE_TRY(mirror_.launch(look_kernel(type), arguments, when));
  }
  return bring(bucket, when);
}

Findings* DeviceLooks::place(std::size_t bucket, When when) const {
  return reinterpret_cast<Findings*>(allocated_.back() + offset_of(bucket, when));
}

Status DeviceLooks::bring(std::size_t bucket, When when) {
  const std::size_t offset = offset_of(bucket, when);
  return mirror_.note(mirror_.device().copy_down(host_.data() + offset, allocated_.back() + offset,
                                                 kLookBytes, mirror_.stream(when)));
}

DeviceLooks::Found DeviceLooks::found(std::size_t bucket, When when) const {
  Found found;
  std::uint64_t first = Findings::kNone;
  for (std::size_t i = 0; i < on_device::kBlocks; ++i) {
    Findings part{};
    std::memcpy(&part, host_.data() + offset_of(bucket, when) + i * sizeof part, sizeof part);
    first = std::min(first, part.first_overflow);
    found.sum_of_squares += part.sum_of_squares;
  }
  if (first != Findings::kNone) found.first_overflow = static_cast<std::size_t>(first);
  return found;
}

}  // namespace paceline
