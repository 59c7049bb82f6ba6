#include "launcher/tools/measure/probe/loop/pattern.h"

#include <algorithm>
#include <cstring>

#include "collectives/reduce/plain.h"
#include "comm/base/with_type.h"

namespace paceline::probe {
namespace {

constexpr std::size_t kRepeats = 8;  // a table of some 32 KiB: long copies, and yet in the cache

std::size_t phase(int rank, std::uint64_t call, std::size_t first) {
  return (37 * static_cast<std::size_t>(rank) + 101 * (call % Pattern::kCalls) +
          first % Pattern::kPeriod) %
         Pattern::kPeriod;
}

// Products stay small where most values are 1 or -1.
int base(std::size_t place, ReduceOp op) {
  place %= Pattern::kPeriod;
  const std::size_t mixed = (place * place + 3 * place) % 13;
  if (op != ReduceOp::kProd) return static_cast<int>(mixed % 7) - 3;
  if (mixed == 5) return 2;
  return mixed % 2 == 0 ? 1 : -1;
}

std::vector<std::byte> make_table(DataType type, ReduceOp op, std::size_t count) {
  std::vector<std::byte> table(count * size_of(type));
  with_type(type, [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i)
      reduce::store_element<T>(table.data(), i, static_cast<reduce::Wide<T>>(base(i, op)));
  });
  return table;
}

// into[i] = into[i] op from[i].
template <class T>
void combine(std::byte* into, const std::byte* from, std::size_t count, ReduceOp op) {
  reduce::with_op(
      op, [&]<class Op>(Op) { reduce::Plain<T>::template reduce<Op>(into, into, from, count); });
}

}  // namespace

Pattern::Pattern(DataType type, ReduceOp op, int ranks)
    : type_(type),
      op_(op),
      ranks_(ranks),
      element_bytes_(size_of(type)),
      stride_(kPeriod * kRepeats * element_bytes_),
      table_(make_table(type, op, kPeriod * (kRepeats + 1))) {}

void Pattern::fill(Elements into, int rank, std::uint64_t call) const {
  const std::byte* const from = table_.data() + phase(rank, call, 0) * element_bytes_;
  auto* const data = static_cast<std::byte*>(into.data);
  const std::size_t bytes = into.count * element_bytes_;
  for (std::size_t at = 0; at < bytes; at += stride_)
    std::memcpy(data + at, from, std::min(stride_, bytes - at));
}

std::size_t Pattern::wrong_reduction(Elements result, std::uint64_t call, std::size_t first) const {
  const auto begin_of = [&](int rank) {
    return table_.data() + phase(rank, call, first) * element_bytes_;
  };
  std::vector<std::byte> expected(begin_of(0), begin_of(0) + stride_);
  with_type(type_, [&]<class T>(T) {
    constexpr std::size_t kCount = kPeriod * kRepeats;
    for (int rank = 1; rank < ranks_; ++rank)
      combine<T>(expected.data(), begin_of(rank), kCount, op_);
    if (op_ == ReduceOp::kAvg)
      reduce::Plain<T>::divide(expected.data(), kCount, static_cast<std::uint64_t>(ranks_));
  });
  return wrong(result, expected.data());
}

std::size_t Pattern::wrong_copy(Elements result, int rank, std::uint64_t call,
                                std::size_t first) const {
  return wrong(result, table_.data() + phase(rank, call, first) * element_bytes_);
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
