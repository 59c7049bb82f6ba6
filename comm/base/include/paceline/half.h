// The 16-bit floating-point types of training, in their memory format.
//
// Example:
//   const paceline::BFloat16 half(0.1f);
//   std::cout << half.to_float() << '\n';  // 0.100098
//
// Arithmetic converts to float and rounds the result to nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

namespace paceline {

/// IEEE 754-2019 binary16: 5 exponent bits, 10 fraction bits.
struct Float16 {
  std::uint16_t bits = 0;

  constexpr Float16() = default;
  /// A value beyond the range becomes infinity. A NaN becomes a quiet NaN.
  explicit constexpr Float16(float value);
  static constexpr Float16 from_bits(std::uint16_t bits);
  constexpr float to_float() const;
};

/// The upper half of an IEEE 754 binary32: 8 exponent bits, 7 fraction bits.
struct BFloat16 {
  std::uint16_t bits = 0;

  constexpr BFloat16() = default;
  explicit constexpr BFloat16(float value);
  static constexpr BFloat16 from_bits(std::uint16_t bits);
  constexpr float to_float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

constexpr Float16 Float16::from_bits(std::uint16_t bits) {
  Float16 half;
  half.bits = bits;
  return half;
}

constexpr Float16::Float16(float value) {
  constexpr std::uint32_t kInfinity = 0x7F800000, kTooLarge = 0x477FF000, kLeastNormal = 0x38800000;
  const std::uint32_t all = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = all & 0x7FFFFFFF;
  std::uint32_t half = 0;
  if (magnitude > kInfinity) {
    half = 0x7E00 | (magnitude >> 13 & 0x3FF);
  } else if (magnitude >= kTooLarge) {
    half = 0x7C00;
  } else if (magnitude >= kLeastNormal) {
    half = (magnitude - (112u << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
  } else {
    // The unit of subnormals, 2^-24, is the last place of 0.5f, so the addition rounds to it.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
           std::bit_cast<std::uint32_t>(0.5f);
  }
  bits = static_cast<std::uint16_t>((all >> 16 & 0x8000) | half);
}

constexpr float Float16::to_float() const {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1Fu;
  const std::uint32_t fraction = bits & 0x3FFu;
  std::uint32_t magnitude = 0;
  if (exponent == 0) {
    magnitude = std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24f);
  } else if (exponent < 31) {
    magnitude = (exponent + 112) << 23 | fraction << 13;
  } else {
    magnitude = 0x7F800000 | fraction << 13 | (fraction != 0 ? 0x00400000u : 0);
  }
  return std::bit_cast<float>(sign | magnitude);
}

constexpr BFloat16 BFloat16::from_bits(std::uint16_t bits) {
  BFloat16 half;
  half.bits = bits;
  return half;
}

constexpr BFloat16::BFloat16(float value) {
  const std::uint32_t all = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (all & 0x7FFFFFFF) > 0x7F800000;
  const std::uint32_t rounded = is_nan ? all | 0x00400000 : all + 0x7FFF + (all >> 16 & 1);
  bits = static_cast<std::uint16_t>(rounded >> 16);
}

}  // namespace paceline
