// Text of a made-up language, the same for all: words of a seeded vocabulary, each of which is
// followed by one of a few others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace characters {

inline constexpr std::size_t kLetters = 26;
inline constexpr std::size_t kCharacters = kLetters + 1;  // and a blank

/// A character is a number below kCharacters.
using Text = std::vector<std::uint8_t>;

/// `count` characters.
Text make_text(std::size_t count);

}  // namespace characters
