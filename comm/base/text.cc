#include "comm/base/text.h"

#include <algorithm>

namespace paceline {

std::string seconds_text(Duration duration) {
  const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  std::string text = std::to_string(count / 1000);
  if (count % 1000 != 0) {
    const std::string thousandths = std::to_string(1000 + count % 1000).substr(1);
    text.append(".").append(thousandths, 0, thousandths.find_last_not_of('0') + 1);
  }
  return text + " s";
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
  std::string shown(text);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::replace_if(shown.begin(), shown.end(), is_control, '?');
  return shown;
}

}  // namespace paceline
