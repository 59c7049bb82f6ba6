#include "comm/base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace paceline {
namespace {

bool goes_on(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// How many bytes the first byte of a character announces; 0: it is no first byte.
std::size_t announced(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

// Control characters, surrogates, what is written longer than needed, and what XML forbids.
bool is_fine(std::uint32_t code, std::size_t size) {
  constexpr std::array<std::uint32_t, 5> kFirst = {0, 0, 0x80, 0x800, 0x10000};
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code >= kFirst[size] && code <= 0x10ffff && !control && !surrogate &&
         (code & 0xfffe) != 0xfffe;
}

// The bytes of the character that `text` begins with; 0 where it begins with none.
std::size_t first_character(std::string_view text) {
  constexpr std::array<unsigned, 5> kMask = {0, 0x7f, 0x1f, 0x0f, 0x07};
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t size = announced(first);
  if (size == 0 || size > text.size()) return 0;
  std::uint32_t code = first & kMask[size];
  for (std::size_t i = 1; i < size; ++i) {
    if (!goes_on(text[i])) return 0;
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  return is_fine(code, size) ? size : 0;
}

}  // namespace

std::string seconds_text(Duration duration) {
  const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  std::string text = std::to_string(count / 1000);
  if (count % 1000 != 0) {
    const std::string thousandths = std::to_string(1000 + count % 1000).substr(1);
    text.append(".").append(thousandths, 0, thousandths.find_last_not_of('0') + 1);
  }
  return text + " s";
}

std::string count_text(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string all;
  for (const std::string& piece : pieces) {
    if (&piece != &pieces.front()) all.append(separator);
    all.append(piece);
  }
  return all;
}

std::string with_unit(double value, const char* unit) {
  std::array<char, 64> text;
  const bool whole = value >= 100 || std::abs(value - std::round(value)) < 0.05;
  const char* const form = value >= 1e9 ? "%.1e %s" : whole ? "%.0f %s" : "%.1f %s";
  std::snprintf(text.data(), text.size(), form, value, unit);
  return text.data();
}

std::string time_text(double us) {
  if (us < 1e3) return with_unit(us, "us");
  return us < 1e6 ? with_unit(us / 1e3, "ms") : with_unit(us / 1e6, "s");
}

std::string to_hexadecimal(std::span<const std::byte> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

std::string list_text(std::span<const std::string> items, std::size_t most) {
  const std::size_t shown = std::min(items.size(), most);
  const std::size_t left_out = items.size() - shown;
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == items.size();
    text.append(i == 0 ? "" : is_last ? " and " : ", ").append(items[i]);
  }
  return left_out == 0 ? text : text.append(" and ").append(std::to_string(left_out)) + " more";
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t size = first_character(text);
    if (size == 0) {
      shown += '?';
    } else {
      shown.append(text.substr(0, size));
    }
    text.remove_prefix(std::max(size, std::size_t{1}));
  }
  return shown;
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

}  // namespace paceline
