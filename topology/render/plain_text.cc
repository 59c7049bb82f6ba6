#include "topology/render/plain_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "comm/base/text.h"

namespace paceline::topology {
namespace {

constexpr std::string_view kEllipsis = "…";

bool goes_on(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Where the character with this number begins.
std::size_t offset_of(std::string_view text, std::size_t number) {
  for (std::size_t at = 0; at < text.size(); ++at)
    if (!goes_on(text[at]) && number-- == 0) return at;
  return text.size();
}

// Takes as much off `rest` as fits a line.
std::string take_line(std::string& rest, std::size_t columns) {
  const std::size_t room = offset_of(rest, columns);
  const std::size_t blank = rest.rfind(' ', room);
  const std::size_t comma = rest.rfind(',', room - 1);
  std::size_t end = 0;
  if (blank != rest.npos) end = blank;
  if (comma != rest.npos) end = std::max(end, comma + 1);
  if (end == 0) {
    end = std::min(rest.find_first_of(" ,"), rest.size());
    if (end < rest.size() && rest[end] == ',') ++end;
  }
  std::string line = cut(rest.substr(0, end), columns);
  rest.erase(0, std::min(rest.find_first_not_of(' ', end), rest.size()));
  return line;
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !goes_on(c); }));
}

std::string cut(const std::string& text, std::size_t most) {
  if (characters(text) <= most) return text;
  if (most == 0) return "";
  return text.substr(0, offset_of(text, most - 1)).append(kEllipsis);
}

std::vector<std::string> fill(const std::vector<std::string>& pieces, const Filling& filling) {
  const std::string_view end =
      filling.separator.substr(0, filling.separator.find_last_not_of(' ') + 1);
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    std::string piece = pieces[i];
    if (i + 1 < pieces.size()) piece.append(end);
    const std::string blank(i == 0 ? 0 : filling.separator.size() - end.size(), ' ');
    if (i > 0 && characters(line) + blank.size() + characters(piece) > filling.columns) {
      lines.push_back(std::move(line));
      line = std::move(piece);
    } else {
      line.append(blank).append(piece);
    }
    while (characters(line) > filling.columns) lines.push_back(take_line(line, filling.columns));
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::vector<std::string> fill_words(std::string_view sentence, std::size_t columns) {
  std::vector<std::string> words;
  while (!sentence.empty()) {
    const std::size_t end = std::min(sentence.find(' '), sentence.size());
    if (end > 0) words.emplace_back(sentence.substr(0, end));
    sentence.remove_prefix(std::min(end + 1, sentence.size()));
  }
  return fill(words, {.separator = " ", .columns = columns});
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return with_unit(value, kUnits[unit]);
}

std::string speed_text(std::uint64_t mb_per_s) {
  return with_unit(static_cast<double>(mb_per_s) / 1000, "GB/s");
}

std::string rate_text(std::uint64_t mbit_per_s) {
  return with_unit(static_cast<double>(mbit_per_s) / 1000, "Gbit/s");
}

}  // namespace paceline::topology
