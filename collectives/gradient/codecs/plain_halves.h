// bf16 and fp16 as loops over single elements: each is rounded to nearest, ties to even.
#pragma once

#include <cmath>
#include <cstddef>

#include <paceline/half.h>

#include "collectives/gradient/codecs/dense_codec.h"
#include "collectives/gradient/codecs/with_residual.h"
#include "collectives/reduce/elements.h"

namespace paceline {

template <class Half, Codec codec>
struct PlainHalves {
  static constexpr Codec kCodec = codec;
  static constexpr std::size_t kBlock = 1;
  static constexpr bool kNeedsFeedback = false;

  static std::size_t encoded_bytes(std::size_t count) { return count * sizeof(Half); }

  static bool encode(const float* in, const float* residual, float* lost, std::size_t count,
                     std::byte* out) {
    bool all_finite = true;
    for (std::size_t i = 0; i < count; ++i) {
      const float value = with_residual(in, residual, i);
      reduce::store_element<Half>(out, i, value);
      const float decoded = reduce::load_element<Half>(out, i);
      const bool is_finite = std::isfinite(decoded);
      if (lost != nullptr) lost[i] = is_finite ? value - decoded : residual[i];
      all_finite = all_finite && is_finite;
    }
    return all_finite;
  }
  static void decode(const std::byte* in, std::size_t count, float* out) {
    for (std::size_t i = 0; i < count; ++i) out[i] = reduce::load_element<Half>(in, i);
  }
  static void decode_add(const std::byte* in, std::size_t count, float* out) {
    for (std::size_t i = 0; i < count; ++i) out[i] += reduce::load_element<Half>(in, i);
  }
};

using PlainBf16 = PlainHalves<BFloat16, Codec::kBf16>;
using PlainFp16 = PlainHalves<Float16, Codec::kFp16>;

}  // namespace paceline
