// Numbers from text, and text for people.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/clock.h"

namespace paceline {

/// The number that is all of `text`: nothing before it, not even a plus, and nothing behind it.
/// Nothing where it is no such number or out of T's range.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const all = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), all, value);
  return error == std::errc() && end == all ? std::optional(value) : std::nullopt;
}

/// "10 s", "0.5 s"; down to the millisecond.
std::string seconds_text(Duration duration);

/// "1 core", "2 cores".
std::string count_text(std::size_t count, const std::string& what);
std::string joined(const std::vector<std::string>& pieces, std::string_view separator);

/// "12.5 GB/s", "150 ms": with one decimal where it matters.
std::string with_unit(double value, const char* unit);
/// "950 us", "12.5 ms", "3 s".
std::string time_text(double us);

/// Two digits a byte, in lower case.
std::string to_hexadecimal(std::span<const std::byte> bytes);

/// "a", "a and b", "a, b and c"; of more than `most` those that come first: "a, b and 3 more".
std::string list_text(std::span<const std::string> items, std::size_t most = SIZE_MAX);

/// Returns `text` without leading and trailing characters of `blanks`.
std::string_view trimmed(std::string_view text, std::string_view blanks);

/// What others wrote, with a question mark for each control character, which could disturb a
/// terminal, and for each byte that is no UTF-8, which JSON and XML refuse.
std::string printable(std::string_view text);

}  // namespace paceline
