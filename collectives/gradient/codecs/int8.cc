// int8 in blocks, as plain_int8.h says. Highway compiles this file once for each kind of processor.

// A processor without AVX2 takes the plain loops.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/gradient/codecs/int8.cc"
#include <hwy/foreach_target.h>
// foreach_target.h includes this file for each instruction set. The code below is compiled each
// time.
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
// A block waits in registers for its scale.
constexpr std::size_t kVectors = kBlock / kLanes;
static_assert(kVectors >= 2);
constexpr std::int32_t kInfinity = 0x7F800000;

template <bool kFeedsBack>
HWY_INLINE Value load(const float* in, const float* residual, std::size_t i) {
  const Value value = hn::LoadU(D(), in + i);
  if constexpr (!kFeedsBack) return value;
  return value + hn::LoadU(D(), residual + i);
}

// The largest magnitude of a block, as bits: these are ordered as the numbers are, those that are
// not finite behind all others.
HWY_INLINE std::int32_t largest_of(const Value (&block)[kVectors]) {
  auto largest = hn::BitCast(Bits(), hn::Abs(block[0]));
  for (std::size_t k = 1; k < kVectors; ++k)
    largest = hn::Max(largest, hn::BitCast(Bits(), hn::Abs(block[k])));
  return hn::GetLane(hn::MaxOfLanes(Bits(), largest));
}

// Integers wait in the lower bits: to convert and to narrow them took two and a half times as long.
HWY_INLINE void store_lowest_bytes(const Value (&block)[kVectors], std::uint8_t* out) {
  const auto words = [&](std::size_t k) HWY_ATTR {
    return hn::ConcatEven(Words(), hn::BitCast(Words(), block[k + 1]),
                          hn::BitCast(Words(), block[k]));
  };
  if constexpr (kVectors == 2) {
    hn::StoreU(hn::TruncateTo(hn::Half<Octets>(), words(0)), hn::Half<Octets>(), out);
  } else {
    for (std::size_t k = 0; k < kVectors; k += 4) {
      hn::StoreU(hn::ConcatEven(Octets(), hn::BitCast(Octets(), words(k + 2)),
                                hn::BitCast(Octets(), words(k))),
                 Octets(), out + k * kLanes);
    }
  }
}

template <bool kFeedsBack>
HWY_INLINE bool encode_whole(const float* in, const float* residual, float* lost, std::byte* out) {
  Value block[kVectors];
  for (std::size_t k = 0; k < kVectors; ++k) block[k] = load<kFeedsBack>(in, residual, k * kLanes);
  const std::int32_t largest = largest_of(block);
  const bool is_finite = largest < kInfinity;
  const Int8Scale by = is_finite ? Int8Scale::of(std::bit_cast<float>(largest)) : Int8Scale();
  by.write(out);
  auto* const codes = reinterpret_cast<std::uint8_t*>(out + Int8Scale::kBytes);
  if (!is_finite) {
    std::fill_n(codes, kBlock, std::uint8_t{0});
    if constexpr (kFeedsBack) keep_residual(residual, lost, kBlock);
    return false;
  }
  const Value scale = hn::Set(D(), by.scale), inverse = hn::Set(D(), by.inverse);
  const Value to_integer = hn::Set(D(), Int8Scale::kToInteger);
  for (std::size_t k = 0; k < kVectors; ++k) {
    const Value nearest = hn::MulAdd(block[k], inverse, to_integer);
    if constexpr (kFeedsBack)
      hn::StoreU(block[k] - (nearest - to_integer) * scale, D(), lost + k * kLanes);
    block[k] = nearest;
  }
  store_lowest_bytes(block, codes);
  return true;
}

template <bool kAdds>
HWY_INLINE void decode_whole(const std::byte* in, float* out) {
  const auto* const codes = reinterpret_cast<const std::int8_t*>(in + Int8Scale::kBytes);
  const Value by = hn::Set(D(), Int8Scale::read(in));
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    const auto code = hn::PromoteTo(Bits(), hn::LoadU(Codes(), codes + i));
    Value value = hn::ConvertTo(D(), code) * by;
    if constexpr (kAdds) value = value + hn::LoadU(D(), out + i);
    hn::StoreU(value, D(), out + i);
  }
}

struct Kernels : PlainInt8 {
  static bool encode(const float* in, const float* residual, float* lost, std::size_t count,
                     std::byte* out) {
    return residual == nullptr ? encode_all<false>(in, residual, lost, count, out)
                               : encode_all<true>(in, residual, lost, count, out);
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
  static bool encode_all(const float* in, const float* residual, float* lost, std::size_t count,
                         std::byte* out) {
    const std::size_t whole = count / kBlock * kBlock;
    bool all_finite = true;
    for (std::size_t i = 0; i < whole; i += kBlock) {
      all_finite &= encode_whole<kFeedsBack>(in + i, from(residual, i), from(lost, i),
                                             out + encoded_bytes(i));
    }
    all_finite &= PlainInt8::encode(in + whole, from(residual, whole), from(lost, whole),
                                    count - whole, out + encoded_bytes(whole));
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
