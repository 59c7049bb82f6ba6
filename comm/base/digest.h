// A short stable stand-in for a name.
#pragma once

#include <cstdint>
#include <string_view>

namespace paceline {

/// FNV-1a, 64 bits: the same on every host and in every version. Not a secret, not collision-proof
/// against somebody who tries.
constexpr std::uint64_t digest(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325ull;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3ull;
  }
  return hash;
}

}  // namespace paceline
