#include "collectives/gradient/arena.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>

#include "comm/base/argument_error.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/memory_domain.h"

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

// Types in the order of their first parameters.
std::vector<std::size_t> in_order_of_types(std::span<const Parameter> parameters) {
  std::vector<DataType> types;
  for (const Parameter& parameter : parameters)
    if (std::ranges::find(types, parameter.type) == types.end()) types.push_back(parameter.type);
  std::vector<std::size_t> order;
  for (const DataType type : types)
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].type == type) order.push_back(i);
  return order;
}

}  // namespace

Result<GradientArena> GradientArena::make(std::span<const Parameter> parameters) {
  GradientArena arena;
  arena.order_ = in_order_of_types(parameters);
  arena.places_.resize(parameters.size());
  for (const Parameter& parameter : parameters) {
    arena.bytes_.push_back(parameter.count * size_of(parameter.type));
    arena.columns_.push_back(parameter.columns);
  }
  std::size_t end = 0;
  for (const std::size_t i : arena.order_) {
    const Parameter& parameter = parameters[i];
    if (!is_floating(parameter.type))
      return wrong(i, parameter, "its type is not a floating-point type");
    if (parameter.uses < 1)
      return wrong(i, parameter, std::to_string(parameter.uses) + " uses; it must have at least 1");
    if (parameter.count > (kMostBytes - end) / size_of(parameter.type))
      return wrong(i, parameter,
                   std::to_string(parameter.count) +
                       " elements exceed the limit of 64 TiB for all gradients");
    if (parameter.columns > 0 && parameter.count % parameter.columns != 0)
      return wrong(i, parameter,
                   std::to_string(parameter.count) + " elements are not a multiple of " +
                       std::to_string(parameter.columns) + " columns");
    const std::size_t padded = (arena.bytes_[i] + kAlignment - 1) / kAlignment * kAlignment;
    arena.places_[i] = {.begin = end, .bytes = padded};
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

Status check_gradient(std::size_t gradient, std::size_t gradients) {
  if (gradient < gradients) return {};
  return argument_error("gradient " + std::to_string(gradient) +
                        " does not exist; the number of gradients is " + std::to_string(gradients));
}

void GradientArena::leave_behind() {
  MemoryDomain& domain = MemoryDomain::of_process();
  // A use that never ends.
  if (const auto place = domain.place_of(buffer_.data(), buffer_.size())) domain.retain(*place);
  static std::mutex mutex;
  static auto* const kept = new std::deque<std::vector<std::byte>>();  // never destroyed
  const std::lock_guard lock(mutex);
  if (!ordinary_.empty()) kept->push_back(std::move(ordinary_));
}

std::span<std::byte> GradientArena::of(std::size_t gradient) const {
  return memory_.subspan(places_[gradient].begin, bytes_[gradient]);
}

// A gradient without bytes begins where the next one does. So the last one that begins there has
// the bytes.
std::span<const std::size_t> GradientArena::gradients_from(std::size_t offset) const {
  const auto begin = [this](std::size_t gradient) { return places_[gradient].begin; };
  const auto behind = std::ranges::upper_bound(order_, offset, {}, begin);
  return {std::prev(behind), order_.end()};
}

}  // namespace paceline
