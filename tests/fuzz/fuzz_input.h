// A fuzzer's input, read as a script: small numbers and runs of bytes, none of which can fail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/bytes.h"

namespace paceline::fuzz {

inline ByteView as_byte_view(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

inline Bytes joined(ByteView first, ByteView second) {
  Bytes both(first.begin(), first.end());
  both.insert(both.end(), second.begin(), second.end());
  return both;
}

class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size) : left_(as_byte_view(data, size)) {}

  bool empty() const { return left_.empty(); }
  ByteView rest() const { return left_; }
  /// The next byte; 0 at the end.
  std::uint8_t byte() {
    const ByteView next = bytes(1);
    return next.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(next[0]);
  }
  /// The next `count` bytes, or as many as there are.
  ByteView bytes(std::size_t count) {
    const ByteView next = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(next.size());
    return next;
  }

 private:
  ByteView left_;
};

}  // namespace paceline::fuzz

// What libFuzzer calls, and driver.cc where there is no libFuzzer.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
