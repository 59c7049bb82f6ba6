#include "tests/harness/elements.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "collectives/reduce/elements.h"
#include "collectives/reduce/kernels.h"
#include "comm/base/with_type.h"

namespace paceline::testing {
namespace {

int value_of(ReduceOp op, std::size_t mixed) {
  const std::size_t place = mixed % kPeriod;
  if (op != ReduceOp::kProd) return static_cast<int>(place % 15) - 7;
  if (place % 7 == 0) return 2;
  return place % 3 == 1 ? -1 : 1;
}

}  // namespace

void Elements::fill(ValueAt value_at) {
  const std::size_t first = std::min(count(), kPeriod);
  with_type(type_, [&]<class T>(T) {
    for (std::size_t index = 0; index < first; ++index) {
      reduce::store_element<T>(data(), index, static_cast<reduce::Wide<T>>(value_at(index)));
    }
  });
  // What stands there already is copied behind itself: it doubles each time.
  for (std::size_t done = first * size_of(type_); done < bytes_.size();) {
    const std::size_t more = std::min(done, bytes_.size() - done);
    std::memcpy(bytes_.data() + done, bytes_.data(), more);
    done += more;
  }
}

std::string Elements::text(std::size_t index) const {
  const double value = with_type(type_, [&]<class T>(T) {
    return static_cast<double>(reduce::load_element<T>(data(), index % kPeriod));
  });
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::optional<std::size_t> Elements::first_other(const Elements& right) const {
  return testing::first_other(data(), count(), right, 0);
}

std::optional<std::size_t> first_other(const void* data, std::size_t count, const Elements& right,
                                       std::size_t phase) {
  const std::size_t bytes = size_of(right.type());
  const auto* const mine = static_cast<const std::byte*>(data);
  const auto* const theirs = static_cast<const std::byte*>(right.data());
  const bool repeats =
      count > kPeriod && std::memcmp(mine, mine + kPeriod * bytes, (count - kPeriod) * bytes) == 0;
  const std::size_t checked = repeats ? kPeriod : count;
  for (std::size_t index = 0; index < checked; ++index) {
    const std::size_t there = (index + phase) % kPeriod;
    if (std::memcmp(mine + index * bytes, theirs + there * bytes, bytes) != 0) return index;
  }
  return std::nullopt;
}

ReduceRule rule_of(const CallForm& call, int rank) {
  if (call.op != ReduceOp::kPreMulSum) return call.op;
  return with_type(call.type, [&]<class T>(T) {
    T factor;
    reduce::store_element<T>(&factor, 0, static_cast<reduce::Wide<T>>(1 + rank % 2));
    return ReduceRule::pre_multiplied_sum(factor);
  });
}

Elements inputs_of(const CallForm& call, int rank, std::size_t count) {
  Elements elements(call.type, count);
  elements.fill([&](std::size_t index) {
    return value_of(call.op, static_cast<std::size_t>(rank) * 31 + call.number * 17 + index * 7);
  });
  return elements;
}

Elements reduced(const CallForm& call, int ranks, std::size_t count) {
  const Kernels& plain = plain_kernels().of(call.type);
  const auto contribution_of = [&](int rank) {
    Elements elements = inputs_of(call, rank, std::min(count, kPeriod));
    const ReduceRule rule = rule_of(call, rank);
    if (rule.factor()) {
      plain.scale(elements.data(), elements.data(), rule.factor()->element.data(),
                  elements.count());
    }
    return elements;
  };
  Elements result = contribution_of(0);
  for (int rank = 1; rank < ranks; ++rank) {
    const Elements another = contribution_of(rank);
    plain.reduction(call.op)(result.data(), result.data(), another.data(), result.count());
  }
  if (call.op == ReduceOp::kAvg)
    plain.divide(result.data(), result.count(), static_cast<std::uint64_t>(ranks));
  return result;
}

}  // namespace paceline::testing
