// int8 as loops over single elements. A block of 64 is a float32 and 64 codes from -127 to 127:
// what each is times that scale is what is decoded.
//
// The scale is the block's largest magnitude over 127, with 16 bits instead of 24, towards zero. So
// scale × code is exact: what is decoded is the same whether or not a processor rounds between a
// product and a sum, and what is lost is exact as well. A scale is 2^-126 or more: what is below
// half of that, and a block of zeros, is decoded as zeros. In a block that is not all finite the
// scale is no number, and so is all that is decoded.
//
// What is lost of an element is at most half of the scale: 1/254 of the block's largest. Of
// elements as by a normal distribution, Laplace's, and Student's with 4 degrees of freedom that is
// 0.59, 0.78 and 0.89 % of them all (L2). Blocks of 256 would lose 0.70, 1.01 and 1.29 %, more than
// the error budget allows, to save 4 % of the bytes.
//
// Source: Dettmers, "8-bit approximations for parallelism in deep learning", ICLR 2016, with the
// linear code.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "collectives/gradient/codecs/dense_codec.h"
#include "collectives/gradient/codecs/with_residual.h"

namespace paceline {

/// What a block is multiplied with.
struct Int8Scale {
  /// What this is added to has its nearest integer, the even one of two, in the lower bits.
  /// Product and sum are rounded once, together.
  static constexpr float kToInteger = 0x1.8p23F;

  float scale = std::numeric_limits<float>::quiet_NaN();
  float inverse = 0;

  /// `largest` is finite.
  static Int8Scale of(float largest) {
    const auto bits = std::bit_cast<std::uint32_t>(largest * (1.0F / 127));
    const float short_one = std::bit_cast<float>(bits & 0xFFFFFF00U);
    const float scale = std::max(short_one, std::numeric_limits<float>::min());
    return {.scale = scale, .inverse = 1.0F / scale};
  }
};

struct PlainInt8 {
  static constexpr Codec kCodec = Codec::kInt8;
  static constexpr std::size_t kBlock = 64;
  static constexpr bool kNeedsFeedback = true;

  static std::size_t encoded_bytes(std::size_t count) {
    return count + (count + kBlock - 1) / kBlock * sizeof(float);
  }
  static bool encode(const float* in, float* residual, std::size_t count, std::byte* out) {
    bool all_finite = true;
    for (std::size_t i = 0; i < count; i += kBlock) {
      float* const kept = residual == nullptr ? nullptr : residual + i;
      const std::size_t length = std::min(kBlock, count - i);
      all_finite = encode_block(in + i, kept, length, out + encoded_bytes(i)) && all_finite;
    }
    return all_finite;
  }
  static void decode(const std::byte* in, std::size_t count, float* out) {
    for_each(in, count, [&](std::size_t i, float value) { out[i] = value; });
  }
  static void decode_add(const std::byte* in, std::size_t count, float* out) {
    for_each(in, count, [&](std::size_t i, float value) { out[i] += value; });
  }

 private:
  static bool encode_block(const float* in, float* residual, std::size_t count, std::byte* out) {
    float largest = 0;
    bool is_finite = true;
    for (std::size_t i = 0; i < count; ++i) {
      const float value = with_residual(in, residual, i);
      is_finite = is_finite && std::isfinite(value);
      largest = std::max(largest, std::abs(value));
    }
    const Int8Scale by = is_finite ? Int8Scale::of(largest) : Int8Scale();
    std::memcpy(out, &by.scale, sizeof(by.scale));
    std::byte* const codes = out + sizeof(by.scale);
    if (!is_finite) std::fill_n(codes, count, std::byte{0});
    for (std::size_t i = 0; is_finite && i < count; ++i) {
      const float value = with_residual(in, residual, i);
      const float nearest =
          std::fma(value, by.inverse, Int8Scale::kToInteger) - Int8Scale::kToInteger;
      codes[i] = static_cast<std::byte>(static_cast<std::int8_t>(nearest));
      if (residual != nullptr) residual[i] = value - nearest * by.scale;
    }
    return is_finite;
  }
  template <class Use>
  static void for_each(const std::byte* in, std::size_t count, const Use& use) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::byte* const block = in + encoded_bytes(i / kBlock * kBlock);
      float scale = 0;
      std::memcpy(&scale, block, sizeof(scale));
      const auto code = static_cast<std::int8_t>(block[sizeof(scale) + i % kBlock]);
      use(i, static_cast<float>(code) * scale);
    }
  }
};

}  // namespace paceline
