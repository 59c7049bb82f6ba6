// bf16: the upper halves of floats. Highway compiles this file once for each kind of processor.

// A processor without AVX2 takes the plain loops.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/gradient/codecs/bf16.cc"
#include <hwy/foreach_target.h>
// foreach_target.h includes this file for each instruction set. The code below is compiled each
// time.
#include <hwy/highway.h>

#include "collectives/gradient/codecs/dense_rows.h"
#include "collectives/gradient/codecs/plain_halves.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::bf16::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

DenseCodec row() { return row_of<PlainBf16>(); }

#else

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using Bits = hn::RebindToUnsigned<D>;
using Magnitudes = hn::RebindToSigned<D>;         // which compare sooner
using Codes = hn::Repartition<std::uint16_t, D>;  // of two vectors of elements
using HalfOfCodes = hn::Rebind<std::uint16_t, D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
// The bits of the least magnitude that has no finite code: half a unit above the last code.
constexpr std::int32_t kTooLarge = 0x7F7F8000;

// The code is the upper half of each. A NaN stays one.
HWY_INLINE hn::Vec<Bits> rounded(hn::Vec<D> value) {
  const auto bits = hn::BitCast(Bits(), value);
  const auto is_odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(Bits(), 1));
  const auto nearest = bits + hn::Set(Bits(), 0x7FFF) + is_odd;
  const auto quiet = hn::Or(bits, hn::Set(Bits(), 0x00400000));
  return hn::IfThenElse(hn::RebindMask(Bits(), hn::IsNaN(value)), quiet, nearest);
}

// What a vector of codes decodes to.
HWY_INLINE hn::Vec<D> load(const std::byte* in) {
  const auto codes = hn::LoadU(HalfOfCodes(), reinterpret_cast<const std::uint16_t*>(in));
  return hn::BitCast(D(), hn::ShiftLeft<16>(hn::PromoteTo(Bits(), codes)));
}

struct Kernels : PlainBf16 {
  static bool encode(const float* in, const float* residual, float* lost, std::size_t count,
                     std::byte* out) {
    return residual == nullptr ? encode_all<false>(in, residual, lost, count, out)
                               : encode_all<true>(in, residual, lost, count, out);
  }
  static void decode(const std::byte* in, std::size_t count, float* out) {
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      hn::StoreU(load(in + encoded_bytes(i)), D(), out + i);
    }
    PlainBf16::decode(in + encoded_bytes(i), count - i, out + i);
  }
  static void decode_add(const std::byte* in, std::size_t count, float* out) {
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      hn::StoreU(hn::LoadU(D(), out + i) + load(in + encoded_bytes(i)), D(), out + i);
    }
    PlainBf16::decode_add(in + encoded_bytes(i), count - i, out + i);
  }

 private:
  template <bool kFeedsBack>
  static bool encode_all(const float* in, const float* residual, float* lost, std::size_t count,
                         std::byte* out) {
    auto largest = hn::Zero(Magnitudes());
    // What is to be encoded of the vector at i, rounded; its residual is kept.
    const auto take = [&](std::size_t i) HWY_ATTR {
      auto value = hn::LoadU(D(), in + i);
      if constexpr (kFeedsBack) value = value + hn::LoadU(D(), residual + i);
      const auto bits = rounded(value);
      const auto magnitude = hn::BitCast(Magnitudes(), hn::Abs(value));
      largest = hn::Max(largest, magnitude);
      if constexpr (kFeedsBack) {
        const auto decoded = hn::BitCast(D(), hn::And(bits, hn::Set(Bits(), 0xFFFF0000u)));
        const auto is_finite = hn::RebindMask(D(), magnitude < hn::Set(Magnitudes(), kTooLarge));
        const auto kept = hn::LoadU(D(), residual + i);
        hn::StoreU(hn::IfThenElse(is_finite, value - decoded, kept), D(), lost + i);
      }
      return hn::BitCast(Codes(), bits);
    };
    std::size_t i = 0;
    for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
      const auto first = take(i);
      const auto second = take(i + kLanes);
      hn::StoreU(hn::ConcatOdd(Codes(), second, first), Codes(),
                 reinterpret_cast<std::uint16_t*>(out + encoded_bytes(i)));
    }
    const bool all_finite = hn::GetLane(hn::MaxOfLanes(Magnitudes(), largest)) < kTooLarge;
    return PlainBf16::encode(in + i, from(residual, i), from(lost, i), count - i,
                             out + encoded_bytes(i)) &&
           all_finite;
  }
};

DenseCodec row() { return row_of<Kernels>(); }

#endif  // HWY_TARGET

}  // namespace paceline::bf16::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline {
namespace bf16 {
namespace {

HWY_EXPORT(row);
DenseCodec fastest_row() { return HWY_DYNAMIC_DISPATCH(row)(); }

}  // namespace
}  // namespace bf16

DenseCodec bf16_codec() { return bf16::fastest_row(); }

}  // namespace paceline
#endif  // HWY_ONCE
