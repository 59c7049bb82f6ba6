#include "comm/base/long_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <immintrin.h>

namespace paceline {
namespace {

constexpr std::size_t kLine = 64;
// 64 to 256 KiB are as quick.
constexpr std::size_t kPiece = std::size_t{128} << 10;

void stream_line(std::byte* to, const std::byte* from) {
  auto* const target = reinterpret_cast<__m128i*>(to);
  const auto* const source = reinterpret_cast<const __m128i*>(from);
  const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
  const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
}

}  // namespace

// Line by line: four pages at a time took three times as long.
void stream_copy(void* to, const void* from, std::size_t bytes) {
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  const auto advance = [&](std::size_t done) { target += done, source += done, bytes -= done; };
  const std::size_t before = (kLine - reinterpret_cast<std::uintptr_t>(target) % kLine) % kLine;
  if (before < bytes) {
    std::memcpy(target, source, before);
    advance(before);
    for (; bytes >= kLine; advance(kLine)) stream_line(target, source);
  }
  std::memcpy(target, source, bytes);
}

void stream_fence() { _mm_sfence(); }

void long_copy(void* to, const void* from, std::size_t bytes, std::size_t array_bytes) {
  if (array_bytes >= kStreamedBytes) {
    stream_copy(to, from, bytes);
    return stream_fence();
  }
  for (std::size_t at = 0; at < bytes; at += kPiece)
    std::memcpy(static_cast<std::byte*>(to) + at, static_cast<const std::byte*>(from) + at,
                std::min(kPiece, bytes - at));
}

}  // namespace paceline
