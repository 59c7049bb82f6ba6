#include "launcher/probe/pattern.h"

#include <algorithm>
#include <cstring>

namespace paceline::probe {
namespace {

constexpr std::size_t kRepeats = 8;  // a table of some 32 KiB: long copies, and yet in the cache

std::size_t phase(int rank, std::uint64_t call) {
  return (37 * static_cast<std::size_t>(rank) + 101 * (call % Pattern::kCalls)) % Pattern::kPeriod;
}

int base(std::size_t place) {
  place %= Pattern::kPeriod;
  return static_cast<int>((place * place + 3 * place) % 13) - 6;
}

int combine(int a, int b, ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return a + b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
  }
  return a;
}

template <class T>
void store(std::vector<std::byte>& table, std::size_t place, int value) {
  const T element = static_cast<T>(value);
  std::memcpy(table.data() + place * sizeof element, &element, sizeof element);
}

// A table of `count` elements whose values `value_of` knows.
template <class ValueOf>
std::vector<std::byte> make_table(DataType type, std::size_t count, ValueOf value_of) {
  std::vector<std::byte> table(count * size_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    const int value = value_of(i);
    switch (type) {
      case DataType::kFloat32:
        store<float>(table, i, value);
        break;
      case DataType::kFloat64:
        store<double>(table, i, value);
        break;
      case DataType::kInt32:
        store<std::int32_t>(table, i, value);
        break;
      case DataType::kInt64:
        store<std::int64_t>(table, i, value);
        break;
    }
  }
  return table;
}

}  // namespace

Pattern::Pattern(DataType type, int ranks)
    : type_(type),
      ranks_(ranks),
      element_bytes_(size_of(type)),
      stride_(kPeriod * kRepeats * element_bytes_),
      table_(make_table(type, kPeriod * (kRepeats + 1), base)) {}

void Pattern::fill(Elements into, int rank, std::uint64_t call) const {
  const std::byte* const from = table_.data() + phase(rank, call) * element_bytes_;
  auto* const data = static_cast<std::byte*>(into.data);
  const std::size_t bytes = into.count * element_bytes_;
  for (std::size_t at = 0; at < bytes; at += stride_)
    std::memcpy(data + at, from, std::min(stride_, bytes - at));
}

std::size_t Pattern::wrong_reduction(Elements result, ReduceOp op, std::uint64_t call) const {
  const std::vector<std::byte> expected =
      make_table(type_, kPeriod * kRepeats, [&](std::size_t place) {
        int value = base(place + phase(0, call));
        for (int rank = 1; rank < ranks_; ++rank)
          value = combine(value, base(place + phase(rank, call)), op);
        return value;
      });
  return wrong(result, expected.data());
}

std::size_t Pattern::wrong_copy(Elements result, int rank, std::uint64_t call) const {
  return wrong(result, table_.data() + phase(rank, call) * element_bytes_);
}

std::size_t Pattern::wrong(Elements result, const std::byte* expected) const {
  const auto* const data = static_cast<const std::byte*>(result.data);
  const std::size_t bytes = result.count * element_bytes_;
  std::size_t found = 0;
  for (std::size_t at = 0; at < bytes; at += stride_) {
    const std::size_t length = std::min(stride_, bytes - at);
    if (std::memcmp(data + at, expected, length) == 0) continue;
    for (std::size_t i = 0; i < length; i += element_bytes_)
      if (std::memcmp(data + at + i, expected + i, element_bytes_) != 0) ++found;
  }
  return found;
}

}  // namespace paceline::probe
