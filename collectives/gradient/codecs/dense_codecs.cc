// The table of codecs that encode each element or block by itself.

#include <algorithm>
#include <array>

#include "collectives/gradient/codecs/dense_codec.h"
#include "collectives/gradient/codecs/dense_rows.h"
#include "collectives/gradient/codecs/plain_halves.h"
#include "collectives/gradient/codecs/plain_int8.h"

namespace paceline {

std::span<const DenseCodec> dense_codecs() {
  static const std::array rows = {bf16_codec(), fp16_codec(), int8_codec()};
  return rows;
}

std::span<const DenseCodec> plain_dense_codecs() {
  static const std::array rows = {row_of<PlainBf16>(), row_of<PlainFp16>(), row_of<PlainInt8>()};
  return rows;
}

const DenseCodec* find_dense_codec(Codec codec) {
  const std::span<const DenseCodec> rows = dense_codecs();
  const auto found = std::ranges::find(rows, codec, &DenseCodec::codec);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace paceline
