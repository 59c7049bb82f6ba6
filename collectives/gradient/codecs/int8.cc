// int8 in blocks, as plain_int8.h says. Highway compiles this file once for each kind of processor.

// A processor without AVX2 takes the plain loops.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/gradient/codecs/int8.cc"
#include <hwy/foreach_target.h>
// What includes itself again stands below.
#include <hwy/highway.h>

#include "collectives/gradient/codecs/dense_rows.h"
#include "collectives/gradient/codecs/plain_int8.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::int8::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

DenseCodec row() { return row_of<PlainInt8>(); }

#else

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using Bits = hn::RebindToSigned<D>;
using Codes = hn::Rebind<std::int8_t, D>;
using Words = hn::Repartition<std::uint16_t, D>;
using Octets = hn::Repartition<std::uint8_t, D>;
using Value = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
constexpr std::size_t kBlock = PlainInt8::kBlock;
// Vectors whose codes fill one.
constexpr std::size_t kAtOnce = 4;
constexpr std::int32_t kInfinity = 0x7F800000;

template <bool kFeedsBack>
HWY_INLINE Value load(const float* in, const float* residual, std::size_t i) {
  const Value value = hn::LoadU(D(), in + i);
  if constexpr (!kFeedsBack) return value;
  return value + hn::LoadU(D(), residual + i);
}

// The largest magnitude of a block, as bits: these are ordered as the numbers are, those that are
// not finite behind all others.
template <bool kFeedsBack>
HWY_INLINE std::int32_t largest_of(const float* in, const float* residual) {
  hn::Vec<Bits> largest[kAtOnce];
  for (auto& one : largest) one = hn::Zero(Bits());
  for (std::size_t i = 0; i < kBlock; i += kAtOnce * kLanes) {
    for (std::size_t k = 0; k < kAtOnce; ++k) {
      const Value value = load<kFeedsBack>(in, residual, i + k * kLanes);
      largest[k] = hn::Max(largest[k], hn::BitCast(Bits(), hn::Abs(value)));
    }
  }
  const auto half = hn::Max(largest[0], largest[1]);
  const auto all = hn::Max(half, hn::Max(largest[2], largest[3]));
  return hn::GetLane(hn::MaxOfLanes(Bits(), all));
}

// Integers wait in the lower bits: to convert and to narrow them took two and a half times as long.
HWY_INLINE hn::Vec<Octets> lowest_bytes(const Value (&lanes)[kAtOnce]) {
  const auto words = [&](std::size_t k) HWY_ATTR {
    return hn::ConcatEven(Words(), hn::BitCast(Words(), lanes[k + 1]),
                          hn::BitCast(Words(), lanes[k]));
  };
  return hn::ConcatEven(Octets(), hn::BitCast(Octets(), words(2)), hn::BitCast(Octets(), words(0)));
}

template <bool kFeedsBack>
HWY_INLINE bool encode_whole(const float* in, float* residual, std::byte* out) {
  const std::int32_t largest = largest_of<kFeedsBack>(in, residual);
  const bool is_finite = largest < kInfinity;
  const Int8Scale by = is_finite ? Int8Scale::of(std::bit_cast<float>(largest)) : Int8Scale();
  std::memcpy(out, &by.scale, sizeof(by.scale));
  auto* const codes = reinterpret_cast<std::uint8_t*>(out + sizeof(by.scale));
  if (!is_finite) {
    std::fill_n(codes, kBlock, std::uint8_t{0});
    return false;
  }
  const Value scale = hn::Set(D(), by.scale), inverse = hn::Set(D(), by.inverse);
  const Value to_integer = hn::Set(D(), Int8Scale::kToInteger);
  for (std::size_t i = 0; i < kBlock; i += kAtOnce * kLanes) {
    Value nearest[kAtOnce];
    for (std::size_t k = 0; k < kAtOnce; ++k) {
      const std::size_t at = i + k * kLanes;
      const Value value = load<kFeedsBack>(in, residual, at);
      nearest[k] = hn::MulAdd(value, inverse, to_integer);
      if constexpr (kFeedsBack)
        hn::StoreU(value - (nearest[k] - to_integer) * scale, D(), residual + at);
    }
    hn::StoreU(lowest_bytes(nearest), Octets(), codes + i);
  }
  return true;
}

template <bool kAdds>
HWY_INLINE void decode_whole(const std::byte* in, float* out) {
  float scale = 0;
  std::memcpy(&scale, in, sizeof(scale));
  const auto* const codes = reinterpret_cast<const std::int8_t*>(in + sizeof(scale));
  const Value by = hn::Set(D(), scale);
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    const auto code = hn::PromoteTo(Bits(), hn::LoadU(Codes(), codes + i));
    Value value = hn::ConvertTo(D(), code) * by;
    if constexpr (kAdds) value = value + hn::LoadU(D(), out + i);
    hn::StoreU(value, D(), out + i);
  }
}

struct Kernels : PlainInt8 {
  static bool encode(const float* in, float* residual, std::size_t count, std::byte* out) {
    return residual == nullptr ? encode_all<false>(in, residual, count, out)
                               : encode_all<true>(in, residual, count, out);
  }
  static void decode(const std::byte* in, std::size_t count, float* out) {
    const std::size_t whole = count / kBlock * kBlock;
    for (std::size_t i = 0; i < whole; i += kBlock) {
      decode_whole<false>(in + encoded_bytes(i), out + i);
    }
    PlainInt8::decode(in + encoded_bytes(whole), count - whole, out + whole);
  }
  static void decode_add(const std::byte* in, std::size_t count, float* out) {
    const std::size_t whole = count / kBlock * kBlock;
    for (std::size_t i = 0; i < whole; i += kBlock) {
      decode_whole<true>(in + encoded_bytes(i), out + i);
    }
    PlainInt8::decode_add(in + encoded_bytes(whole), count - whole, out + whole);
  }

 private:
  template <bool kFeedsBack>
  static bool encode_all(const float* in, float* residual, std::size_t count, std::byte* out) {
    const std::size_t whole = count / kBlock * kBlock;
    const auto kept = [&](std::size_t i) { return kFeedsBack ? residual + i : nullptr; };
    bool all_finite = true;
    for (std::size_t i = 0; i < whole; i += kBlock) {
      all_finite &= encode_whole<kFeedsBack>(in + i, kept(i), out + encoded_bytes(i));
    }
    all_finite &=
        PlainInt8::encode(in + whole, kept(whole), count - whole, out + encoded_bytes(whole));
    return all_finite;
  }
};

DenseCodec row() { return row_of<Kernels>(); }

#endif  // HWY_TARGET

}  // namespace paceline::int8::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline {
namespace int8 {
namespace {

HWY_EXPORT(row);
DenseCodec fastest_row() { return HWY_DYNAMIC_DISPATCH(row)(); }

}  // namespace
}  // namespace int8

DenseCodec int8_codec() { return int8::fastest_row(); }

}  // namespace paceline
#endif  // HWY_ONCE
