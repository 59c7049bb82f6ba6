// zlib for whole texts, and the state of its decompression.
#pragma once

#include <string>

#include <zlib.h>

namespace paceline::launcher {

/// A zlib stream of the text.
std::string deflated(const std::string& text);

/// The state of inflate(3), from begin to end.
struct Inflater {
  Inflater() : ready(::inflateInit(&stream) == Z_OK) {}
  ~Inflater() { ::inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
  const bool ready;
};

}  // namespace paceline::launcher
