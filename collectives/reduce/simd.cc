// The kernels in vectors. Highway compiles this file once for each kind of processor, and finds out
// which of them this one is.

// A processor without AVX2 takes the plain kernels: Highway's narrowing to float16 for those older
// ones truncates instead of rounding.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/reduce/simd.cc"
#include <hwy/foreach_target.h>
// foreach_target.h includes this file for each instruction set. The code below is compiled each
// time.
#include <hwy/highway.h>

#include "collectives/reduce/kernel_set.h"
#include "collectives/reduce/plain.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::reduce::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

const KernelSet& kernel_set() { return plain_kernels(); }

#else

namespace hn = hwy::HWY_NAMESPACE;

// What an operation does to vectors of elements that need no widening.
template <class Op>
struct OnVectors;
template <>
struct OnVectors<Sum> {
  template <class D, class V>
  static HWY_INLINE V of(D, V left, V right) {
    return hn::Add(left, right);
  }
};
// Min and Max of floats return the right operand if the operands are equal or one is a NaN. So of
// the results of both operand orders, one has the NaN, or each has one of the two zeros. A bitwise
// OR with a NaN is a NaN.
template <class V>
HWY_INLINE V or_nan(V one, V other, V number) {
  using D = hn::DFromV<V>;
  const auto quiet_nan = hn::Set(D(), std::numeric_limits<hn::TFromD<D> >::quiet_NaN());
  return hn::IfThenElse(hn::IsNaN(hn::Or(one, other)), quiet_nan, number);
}
template <>
struct OnVectors<Min> {
  template <class D, class V>
  static HWY_INLINE V of(D, V left, V right) {
    if constexpr (std::is_floating_point_v<hn::TFromD<D> >) {
      const V one = hn::Min(left, right), other = hn::Min(right, left);
      return or_nan(one, other, hn::Or(one, other));
    } else {
      return hn::Min(left, right);
    }
  }
};
template <>
struct OnVectors<Max> {
  template <class D, class V>
  static HWY_INLINE V of(D, V left, V right) {
    if constexpr (std::is_floating_point_v<hn::TFromD<D> >) {
      const V one = hn::Max(left, right), other = hn::Max(right, left);
      return or_nan(one, other, hn::And(one, other));
    } else {
      return hn::Max(left, right);
    }
  }
};
template <>
struct OnVectors<Prod> {
  template <class D, class V>
  static HWY_INLINE V of(D d, V left, V right) {
    if constexpr (sizeof(hn::TFromD<D>) > 1) {
      return left * right;
    } else {
      return of_bytes(d, left, right);
    }
  }

 private:
  // Two neighbours in a lane of 16 bits, of whose product the lower half counts.
  template <class D, class V>
  static HWY_INLINE V of_bytes(D d, V left, V right) {
    const hn::Repartition<std::uint16_t, D> pairs;
    const auto a = hn::BitCast(pairs, left);
    const auto b = hn::BitCast(pairs, right);
    const auto lower = hn::And(a * b, hn::Set(pairs, 0xFF));
    const auto upper = hn::ShiftLeft<8>(hn::ShiftRight<8>(a) * hn::ShiftRight<8>(b));
    return hn::BitCast(d, hn::Or(lower, upper));
  }
};

// Elements that are combined in one vector, of W.
template <class W>
struct OneVector {
  using D = hn::ScalableTag<W>;
  using Value = hn::Vec<D>;

  template <class Op>
  static HWY_INLINE Value combine(Value left, Value right) {
    return OnVectors<Op>::of(D(), left, right);
  }
  static HWY_INLINE Value quotient(Value value, W divisor) {
    return hn::Div(value, hn::Set(D(), divisor));
  }
};

// How elements of type T stand in vectors: a Value is what is combined, of kBytes of memory.
template <class T>
struct Lanes : OneVector<T> {
  using typename OneVector<T>::D;
  using typename OneVector<T>::Value;
  static constexpr std::size_t kBytes = hn::MaxLanes(D()) * sizeof(T);

  static HWY_INLINE Value load(const std::byte* at) {
    return hn::LoadU(D(), reinterpret_cast<const T*>(at));
  }
  static HWY_INLINE void store(Value value, std::byte* at) {
    hn::StoreU(value, D(), reinterpret_cast<T*>(at));
  }
};

template <>
struct Lanes<Float16> : OneVector<float> {
  using Half = hn::Rebind<hwy::float16_t, D>;
  static constexpr std::size_t kBytes = hn::MaxLanes(D()) * sizeof(Float16);

  static HWY_INLINE Value load(const std::byte* at) {
    return hn::PromoteTo(D(), hn::LoadU(Half(), reinterpret_cast<const hwy::float16_t*>(at)));
  }
  static HWY_INLINE void store(Value value, std::byte* at) {
    hn::StoreU(hn::DemoteTo(Half(), value), Half(), reinterpret_cast<hwy::float16_t*>(at));
  }
};

// Neighbours in a lane of 32 bits: each is widened in its place, and no element leaves its lane.
template <>
struct Lanes<BFloat16> {
  using D = hn::ScalableTag<float>;
  using Bits = hn::RebindToUnsigned<D>;
  struct Value {
    hn::Vec<D> even;
    hn::Vec<D> odd;
  };
  static constexpr std::size_t kBytes = hn::MaxLanes(D()) * sizeof(float);

  static HWY_INLINE Value load(const std::byte* at) {
    const auto pairs = hn::LoadU(Bits(), reinterpret_cast<const std::uint32_t*>(at));
    return {hn::BitCast(D(), hn::ShiftLeft<16>(pairs)),
            hn::BitCast(D(), hn::And(pairs, upper_half()))};
  }
  static HWY_INLINE void store(Value value, std::byte* at) {
    const auto even = hn::ShiftRight<16>(rounded(value.even));
    const auto odd = hn::And(rounded(value.odd), upper_half());
    hn::StoreU(hn::Or(even, odd), Bits(), reinterpret_cast<std::uint32_t*>(at));
  }
  template <class Op>
  static HWY_INLINE Value combine(Value left, Value right) {
    return {OnVectors<Op>::of(D(), left.even, right.even),
            OnVectors<Op>::of(D(), left.odd, right.odd)};
  }
  static HWY_INLINE Value quotient(Value value, float divisor) {
    const auto by = hn::Set(D(), divisor);
    return {hn::Div(value.even, by), hn::Div(value.odd, by)};
  }

 private:
  static HWY_INLINE hn::Vec<Bits> upper_half() { return hn::Set(Bits(), 0xFFFF0000u); }
  // What counts stands in the upper half. To nearest, ties to even; a NaN stays one.
  static HWY_INLINE hn::Vec<Bits> rounded(hn::Vec<D> value) {
    const auto bits = hn::BitCast(Bits(), value);
    const auto is_odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(Bits(), 1));
    const auto nearest = bits + hn::Set(Bits(), 0x7FFF) + is_odd;
    const auto quiet = hn::Or(bits, hn::Set(Bits(), 0x00400000));
    return hn::IfThenElse(hn::RebindMask(Bits(), hn::IsNaN(value)), quiet, nearest);
  }
};

template <class T>
struct Simd {
  using L = Lanes<T>;
  using Value = typename L::Value;
  static constexpr std::size_t kElements = L::kBytes / sizeof(T);
  // Vectors in flight.
  static constexpr std::size_t kUnroll = 4;

  template <class Op>
  static void reduce(void* target, const void* left, const void* right, std::size_t count) {
    auto* to = static_cast<std::byte*>(target);
    const auto* a = static_cast<const std::byte*>(left);
    const auto* b = static_cast<const std::byte*>(right);
    const auto advance = [&](std::size_t vectors) {
      for (std::size_t i = 0; i < vectors; ++i) {
        const std::size_t at = i * L::kBytes;
        L::store(L::template combine<Op>(L::load(a + at), L::load(b + at)), to + at);
      }
      a += vectors * L::kBytes;
      b += vectors * L::kBytes;
      to += vectors * L::kBytes;
      count -= vectors * kElements;
    };
    while (count >= kUnroll * kElements) advance(kUnroll);
    while (count >= kElements) advance(1);
    Plain<T>::template reduce<Op>(to, a, b, count);
  }

  template <class Op>
  static void fused(void* target, const void* const* operands, std::size_t operand_count,
                    std::size_t count) {
    constexpr std::size_t kBlock = kUnroll * kElements;
    std::size_t done = 0;
    for (; count - done >= kBlock; done += kBlock) {
      fuse<Op, kUnroll>(target, operands, operand_count, done);
    }
    for (; count - done >= kElements; done += kElements) {
      fuse<Op, 1>(target, operands, operand_count, done);
    }
    Plain<T>::template fused_from<Op>(target, operands, operand_count, done, count);
  }

  static void scale(void* target, const void* source, const void* factor, std::size_t count) {
    alignas(L::kBytes) std::byte factors[L::kBytes];
    for (std::size_t i = 0; i < kElements; ++i) {
      store_element<T>(factors, i, load_element<T>(factor, 0));
    }
    const Value by = L::load(factors);
    auto* to = static_cast<std::byte*>(target);
    const auto* from = static_cast<const std::byte*>(source);
    for (; count >= kElements; count -= kElements) {
      L::store(L::template combine<Prod>(L::load(from), by), to);
      from += L::kBytes;
      to += L::kBytes;
    }
    Plain<T>::scale(to, from, factor, count);
  }

  static void weighted_sum(void* target, const void* const* operands, const float* weights,
                           std::size_t operand_count, float divisor, std::size_t count) {
    const typename L::D d;
    std::size_t done = 0;
    for (; count - done >= kElements; done += kElements) {
      const auto weighted = [&](std::size_t k) HWY_ATTR {
        const Value value = L::load(static_cast<const std::byte*>(operands[k]) + done * sizeof(T));
        return value * hn::Set(d, weights == nullptr ? 1.0f : weights[k]);
      };
      Value total = weighted(0);
      for (std::size_t k = 1; k < operand_count; ++k) total = total + weighted(k);
      const Value value = L::quotient(total, divisor), largest = hn::Set(d, kLargestFloat16);
      const Value bounded = hn::Min(hn::Max(value, hn::Neg(largest)), largest);
      L::store(hn::IfThenElse(hn::IsFinite(value), bounded, value),
               static_cast<std::byte*>(target) + done * sizeof(T));
    }
    Plain<T>::weighted_sum_from(target, operands, weights, operand_count, divisor, done, count);
  }

  static void divide(void* target, std::size_t count, std::uint64_t divisor) {
    auto* at = static_cast<std::byte*>(target);
    using W = Wide<T>;
    if constexpr (std::is_floating_point_v<W>) {
      for (; count >= kElements; count -= kElements) {
        L::store(L::quotient(L::load(at), static_cast<W>(divisor)), at);
        at += L::kBytes;
      }
    }
    Plain<T>::divide(at, count, divisor);
  }

 private:
  template <class Op, std::size_t kVectors>
  static HWY_INLINE void fuse(void* target, const void* const* operands, std::size_t operand_count,
                              std::size_t first) {
    const auto at = [&](std::size_t operand, std::size_t vector) {
      return L::load(static_cast<const std::byte*>(operands[operand]) + first * sizeof(T) +
                     vector * L::kBytes);
    };
    Value totals[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) totals[v] = at(0, v);
    for (std::size_t k = 1; k < operand_count; ++k) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        totals[v] = L::template combine<Op>(totals[v], at(k, v));
      }
    }
    auto* const to = static_cast<std::byte*>(target) + first * sizeof(T);
    for (std::size_t v = 0; v < kVectors; ++v) L::store(totals[v], to + v * L::kBytes);
  }
};

const KernelSet& kernel_set() {
  static const KernelSet set = make_kernel_set<Simd>();
  return set;
}

#endif  // HWY_TARGET

}  // namespace paceline::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline {
namespace reduce {
namespace {

HWY_EXPORT(kernel_set);
const KernelSet& fastest_kernel_set() { return HWY_DYNAMIC_DISPATCH(kernel_set)(); }

}  // namespace
}  // namespace reduce

const KernelSet& kernels() {
  static const KernelSet& fastest = reduce::fastest_kernel_set();
  return fastest;
}

}  // namespace paceline
#endif  // HWY_ONCE
