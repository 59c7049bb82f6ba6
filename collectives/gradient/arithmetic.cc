// float32 uses vectors, which Highway compiles once for each kind of processor. The other types use
// plain loops.
#include "collectives/gradient/arithmetic.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/gradient/arithmetic.cc"
#include <hwy/foreach_target.h>
// foreach_target.h includes this file for each instruction set. The code below is compiled each
// time.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace paceline::gradient::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Words = hn::RebindToSigned<Floats>;
using FloatVec = hn::Vec<Floats>;
using WordVec = hn::Vec<Words>;

// The bits of infinity. The bits of every finite number, without the sign, are smaller.
constexpr std::int32_t kInfinity = 0x7F800000;

HWY_INLINE WordVec larger_bits(WordVec most, FloatVec value) {
  return hn::Max(most, hn::BitCast(Words(), hn::Abs(value)));
}

bool are_finite(const float* elements, std::size_t count) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  WordVec most = hn::Zero(Words()), most2 = most;
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    most = larger_bits(most, hn::LoadU(d, elements + i));
    most2 = larger_bits(most2, hn::LoadU(d, elements + i + lanes));
  }
  most = hn::Max(most, most2);
  bool is_finite = hn::GetLane(hn::MaxOfLanes(Words(), most)) < kInfinity;
  for (; i < count; ++i)
    is_finite &= hn::GetLane(larger_bits(hn::Zero(Words()), hn::Set(d, elements[i]))) < kInfinity;
  return is_finite;
}

// Every processor keeps four sums of squares, each of every fourth element. So the result does not
// depend on the length of its vectors. It does not depend on fused multiply-add, either: the square
// of a float is exact in float64.
constexpr std::size_t kSums = 4;
HWY_INLINE double total(const double (&sums)[kSums]) {
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

#if HWY_TARGET == HWY_SCALAR
class Squares {
 public:
  HWY_INLINE void add(FloatVec value) {
    const double one = hn::GetLane(value);
    sums_[next_++ % kSums] += one * one;
  }
  HWY_INLINE double sum() const { return total(sums_); }

 private:
  double sums_[kSums] = {};
  std::size_t next_ = 0;
};
#else
class Squares {
  using Doubles = hn::CappedTag<double, kSums>;
  using Some = hn::Rebind<float, Doubles>;
  static constexpr std::size_t kAtOnce = hn::MaxLanes(Doubles());

 public:
  HWY_INLINE Squares() {
    for (auto& sums : sums_) sums = hn::Zero(Doubles());
  }
  HWY_INLINE void add(FloatVec value) {
    HWY_ALIGN float lanes[hn::MaxLanes(Floats())];
    hn::Store(value, Floats(), lanes);
    for (std::size_t i = 0; i < hn::MaxLanes(Floats()); i += kAtOnce) {
      const auto some = hn::PromoteTo(Doubles(), hn::Load(Some(), lanes + i));
      auto& sums = sums_[i % kSums / kAtOnce];
      sums = sums + some * some;
    }
  }
  HWY_INLINE double sum() const {
    HWY_ALIGN double sums[kSums];
    for (std::size_t i = 0; i < kSums; i += kAtOnce)
      hn::Store(sums_[i / kAtOnce], Doubles(), sums + i);
    return total(sums);
  }

 private:
  hn::Vec<Doubles> sums_[kSums / kAtOnce];
};
#endif

Finished finish(float* elements, std::size_t count, const FinishOrders& orders) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const FloatVec divisor = hn::Set(d, static_cast<float>(orders.divisor));
  WordVec most = hn::Zero(Words());
  Squares squares;
  const auto finish_one = [&](FloatVec value) HWY_ATTR {
    if (orders.divisor != 1) value = hn::Div(value, divisor);
    if (orders.finds_overflow) most = larger_bits(most, value);
    if (orders.sums_squares) squares.add(value);
    return value;
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(finish_one(hn::LoadU(d, elements + i)), d, elements + i);
  if (i < count) {
    HWY_ALIGN float rest[hn::MaxLanes(Floats())] = {};
    for (std::size_t j = i; j < count; ++j) rest[j - i] = elements[j];
    hn::Store(finish_one(hn::Load(d, rest)), d, rest);
    for (std::size_t j = i; j < count; ++j) elements[j] = rest[j - i];
  }
  return {.is_finite = hn::GetLane(hn::MaxOfLanes(Words(), most)) < kInfinity,
          .sum_of_squares = squares.sum()};
}

}  // namespace paceline::gradient::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cmath>

#include "collectives/reduce/elements.h"
#include "comm/base/with_type.h"

namespace paceline {
namespace gradient {
namespace {

HWY_EXPORT(are_finite);
HWY_EXPORT(finish);

template <class T>
bool are_plainly_finite(const std::byte* elements, std::size_t count) {
  bool is_finite = true;
  for (std::size_t i = 0; i < count; ++i)
    is_finite &= std::isfinite(reduce::load_element<T>(elements, i));
  return is_finite;
}

template <class T>
Finished finish_plainly(std::byte* elements, std::size_t count, const FinishOrders& orders) {
  Finished finished;
  using Wide = reduce::Wide<T>;
  for (std::size_t i = 0; i < count; ++i) {
    Wide value = reduce::load_element<T>(elements, i);
    if (orders.divisor != 1 || orders.multiplier != 1) {
      value = value * static_cast<Wide>(orders.multiplier) / static_cast<Wide>(orders.divisor);
      if constexpr (std::is_same_v<T, Float16>) value = reduce::bounded_float16(value);
      reduce::store_element<T>(elements, i, value);
    }
    const Wide stored = reduce::load_element<T>(elements, i);
    if (orders.finds_overflow) finished.is_finite &= std::isfinite(stored);
    if (orders.sums_squares)
      finished.sum_of_squares += static_cast<double>(stored) * static_cast<double>(stored);
  }
  return finished;
}

}  // namespace
}  // namespace gradient

bool are_finite(DataType type, const std::byte* elements, std::size_t count) {
  if (type == DataType::kFloat32)
    return HWY_DYNAMIC_DISPATCH(gradient::are_finite)(reinterpret_cast<const float*>(elements),
                                                      count);
  bool is_finite = true;
  with_type(type, [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>)
      is_finite = gradient::are_plainly_finite<T>(elements, count);
  });
  return is_finite;
}

Finished finish_elements(DataType type, std::byte* elements, std::size_t count,
                         const FinishOrders& orders) {
  // Nothing is written to the elements.
  if (orders.divisor == 1 && orders.multiplier == 1 && !orders.sums_squares)
    return {.is_finite = !orders.finds_overflow || are_finite(type, elements, count)};
  if (type == DataType::kFloat32)
    return HWY_DYNAMIC_DISPATCH(gradient::finish)(reinterpret_cast<float*>(elements), count,
                                                  orders);
  Finished finished;
  with_type(type, [&]<class T>(T) {
    if constexpr (!std::is_integral_v<T>)
      finished = gradient::finish_plainly<T>(elements, count, orders);
  });
  return finished;
}

}  // namespace paceline
#endif  // HWY_ONCE
