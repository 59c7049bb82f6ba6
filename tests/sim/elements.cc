#include "tests/sim/elements.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace paceline::testing {
namespace {

// Calls `use` with a zero of the C++ type.
template <class Use>
auto with_type(DataType type, const Use& use) {
  switch (type) {
    case DataType::kFloat32:
      return use(float{});
    case DataType::kFloat64:
      return use(double{});
    case DataType::kInt32:
      return use(std::int32_t{});
    case DataType::kInt64:
      return use(std::int64_t{});
  }
  return use(float{});
}

}  // namespace

void Elements::fill(ValueAt value_at) {
  const std::size_t first = std::min(count(), kPeriod);
  for (std::size_t index = 0; index < first; ++index) set(index, value_at(index));
  // What stands there already is copied behind itself: it doubles each time.
  for (std::size_t done = first * size_of(type_); done < bytes_.size();) {
    const std::size_t more = std::min(done, bytes_.size() - done);
    std::memcpy(bytes_.data() + done, bytes_.data(), more);
    done += more;
  }
}

std::optional<std::size_t> Elements::first_other(ValueAt value_at) const {
  const std::size_t checked = repeats() ? std::min(count(), kPeriod) : count();
  for (std::size_t index = 0; index < checked; ++index) {
    if (!is(index, value_at(index))) return index;
  }
  return std::nullopt;
}

bool Elements::repeats() const {
  const std::size_t period = kPeriod * size_of(type_);
  return bytes_.size() <= period ||
         std::memcmp(bytes_.data(), bytes_.data() + period, bytes_.size() - period) == 0;
}

void Elements::set(std::size_t index, int value) {
  with_type(type_, [&](auto element) {
    element = static_cast<decltype(element)>(value);
    std::memcpy(bytes_.data() + index * sizeof element, &element, sizeof element);
  });
}

bool Elements::is(std::size_t index, int value) const {
  return with_type(type_, [&](auto element) {
    std::memcpy(&element, bytes_.data() + index * sizeof element, sizeof element);
    return element == static_cast<decltype(element)>(value);
  });
}

int input_of(int rank, std::size_t call, std::size_t index) {
  const std::size_t mixed = static_cast<std::size_t>(rank) * 31 + call * 17 + index * 7;
  return static_cast<int>(mixed % kPeriod) - 50;
}

int result_of(const Call& call, std::size_t call_index, std::size_t index, int ranks) {
  if (call.kind == OperationKind::kBroadcast) return input_of(call.root, call_index, index);
  int result = input_of(0, call_index, index);
  for (int rank = 1; rank < ranks; ++rank) {
    const int another = input_of(rank, call_index, index);
    switch (call.op) {
      case ReduceOp::kSum:
        result += another;
        break;
      case ReduceOp::kMin:
        result = std::min(result, another);
        break;
      case ReduceOp::kMax:
        result = std::max(result, another);
        break;
    }
  }
  return result;
}

}  // namespace paceline::testing
