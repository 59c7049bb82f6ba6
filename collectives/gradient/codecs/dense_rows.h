// What dense_codecs.cc makes its tables of.
#pragma once

#include "collectives/gradient/codecs/dense_codec.h"

namespace paceline {

/// By the fastest vectors that this processor has.
DenseCodec bf16_codec();
DenseCodec fp16_codec();
DenseCodec int8_codec();

/// What has, as static members, the functions of DenseCodec, and kCodec, kBlock, kNeedsFeedback.
template <class Kernels>
DenseCodec row_of() {
  return {.codec = Kernels::kCodec,
          .block = Kernels::kBlock,
          .needs_feedback = Kernels::kNeedsFeedback,
          .encoded_bytes = &Kernels::encoded_bytes,
          .encode = &Kernels::encode,
          .decode = &Kernels::decode,
          .decode_add = &Kernels::decode_add};
}

}  // namespace paceline
