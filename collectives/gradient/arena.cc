#include "collectives/gradient/arena.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMostBytes = std::size_t{1} << 46;

bool is_floating(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat64 || type == DataType::kFloat16 ||
         type == DataType::kBFloat16;
}

Status wrong(std::size_t place, const Parameter& parameter, const std::string& why) {
  return {Code::kInvalidArgument, Scope::kOperation,
          "parameter " + std::to_string(place) + " (" + printable(parameter.name) + "): " + why};
}

}  // namespace

Result<GradientArena> GradientArena::make(std::span<const Parameter> parameters) {
  GradientArena arena;
  std::size_t end = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (!is_floating(parameter.type))
      return wrong(i, parameter, "its type is not a floating-point type");
    if (parameter.count > (kMostBytes - end) / size_of(parameter.type))
      return wrong(i, parameter,
                   std::to_string(parameter.count) +
                       " elements exceed the limit of 64 TiB for all gradients");
    if (parameter.columns > 0 && parameter.count % parameter.columns != 0)
      return wrong(i, parameter,
                   std::to_string(parameter.count) + " elements are not a multiple of " +
                       std::to_string(parameter.columns) + " columns");
    const std::size_t bytes = parameter.count * size_of(parameter.type);
    const std::size_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    arena.places_.push_back({.begin = end, .bytes = padded});
    arena.bytes_.push_back(bytes);
    arena.columns_.push_back(parameter.columns);
    end += padded;
  }
  if (Result<Buffer> buffer = Buffer::allocate(std::max(end, kAlignment)); buffer.ok()) {
    arena.buffer_ = *std::move(buffer);
    arena.memory_ = {arena.buffer_.data(), end};
    std::memset(arena.buffer_.data(), 0, end);
  } else if (buffer.status().code() != Code::kExhausted) {
    // This system has no such memory, or this is a forked child, which may have a group of its own.
    arena.ordinary_.resize(end + kAlignment);
    void* begin = arena.ordinary_.data();
    std::size_t room = arena.ordinary_.size();
    arena.memory_ = {static_cast<std::byte*>(std::align(kAlignment, end, begin, room)), end};
  } else {
    return buffer.status().with_context("gradients of " + std::to_string(end) + " bytes");
  }
  return arena;
}

std::span<std::byte> GradientArena::of(std::size_t gradient) const {
  return memory_.subspan(places_[gradient].begin, bytes_[gradient]);
}

// Those without bytes begin where the next one does, so the last one that begins there has them.
std::size_t GradientArena::gradient_at(std::size_t offset) const {
  const auto behind = std::ranges::upper_bound(places_, offset, {}, &ByteSpan::begin);
  return static_cast<std::size_t>(behind - places_.begin()) - 1;
}

}  // namespace paceline
