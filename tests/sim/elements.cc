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
  return static_cast<int>(mixed % 101) - 50;
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
