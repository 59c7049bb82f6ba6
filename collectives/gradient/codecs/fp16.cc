// fp16: the half floats of IEEE 754, which processors convert themselves. Highway compiles this
// file once for each kind of processor.

// A processor without AVX2 takes the plain loops: see collectives/reduce/simd.cc.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/gradient/codecs/fp16.cc"
#include <hwy/foreach_target.h>
// foreach_target.h includes this file for each instruction set. The code below is compiled each
// time.
#include <hwy/highway.h>

#include "collectives/gradient/codecs/dense_rows.h"
#include "collectives/gradient/codecs/plain_halves.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::fp16::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

DenseCodec row() { return row_of<PlainFp16>(); }

#else

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using Bits = hn::RebindToSigned<D>;
using Codes = hn::Rebind<hwy::float16_t, D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
// The bits of the least magnitude that has no finite code: 65520.
constexpr std::int32_t kTooLarge = 0x477FF000;

// What a vector of codes decodes to.
HWY_INLINE hn::Vec<D> load(const std::byte* in) {
  return hn::PromoteTo(D(), hn::LoadU(Codes(), reinterpret_cast<const hwy::float16_t*>(in)));
}

struct Kernels : PlainFp16 {
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
    PlainFp16::decode(in + encoded_bytes(i), count - i, out + i);
  }
  static void decode_add(const std::byte* in, std::size_t count, float* out) {
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      hn::StoreU(hn::LoadU(D(), out + i) + load(in + encoded_bytes(i)), D(), out + i);
    }
    PlainFp16::decode_add(in + encoded_bytes(i), count - i, out + i);
  }

 private:
  template <bool kFeedsBack>
  static bool encode_all(const float* in, const float* residual, float* lost, std::size_t count,
                         std::byte* out) {
    auto largest = hn::Zero(Bits());
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      auto value = hn::LoadU(D(), in + i);
      if constexpr (kFeedsBack) value = value + hn::LoadU(D(), residual + i);
      std::byte* const to = out + encoded_bytes(i);
      hn::StoreU(hn::DemoteTo(Codes(), value), Codes(), reinterpret_cast<hwy::float16_t*>(to));
      const auto magnitude = hn::BitCast(Bits(), hn::Abs(value));
      largest = hn::Max(largest, magnitude);
      if constexpr (kFeedsBack) {
        const auto is_finite = hn::RebindMask(D(), magnitude < hn::Set(Bits(), kTooLarge));
        const auto kept = hn::LoadU(D(), residual + i);
        hn::StoreU(hn::IfThenElse(is_finite, value - load(to), kept), D(), lost + i);
      }
    }
    const bool all_finite = hn::GetLane(hn::MaxOfLanes(Bits(), largest)) < kTooLarge;
    return PlainFp16::encode(in + i, from(residual, i), from(lost, i), count - i,
                             out + encoded_bytes(i)) &&
           all_finite;
  }
};

DenseCodec row() { return row_of<Kernels>(); }

#endif  // HWY_TARGET

}  // namespace paceline::fp16::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline {
namespace fp16 {
namespace {

HWY_EXPORT(row);
DenseCodec fastest_row() { return HWY_DYNAMIC_DISPATCH(row)(); }

}  // namespace
}  // namespace fp16

DenseCodec fp16_codec() { return fp16::fastest_row(); }

}  // namespace paceline
#endif  // HWY_ONCE
