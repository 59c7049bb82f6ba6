#include "launcher/tools/measure/probe/loop/row.h"

#include <array>
#include <cstdio>
#include <vector>

#include "comm/base/text.h"

namespace paceline::probe {
namespace {

constexpr std::string_view kBegin = "row ";
constexpr std::size_t kWords = 8;

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

template <class T>
bool read(std::string_view word, T& into) {
  const auto value = parse_number<T>(word);
  into = value.value_or(T{});
  return value.has_value();
}

}  // namespace

std::string to_line(const Row& row) {
  std::array<char, 256> numbers{};
  std::snprintf(
      numbers.data(), numbers.size(), "%llu %llu %llu %llu %.3f %.3f %lld %.3f",
      static_cast<unsigned long long>(row.bytes), static_cast<unsigned long long>(row.count),
      static_cast<unsigned long long>(row.samples), static_cast<unsigned long long>(row.batch),
      row.p50_ns, row.p99_ns, static_cast<long long>(row.wrong), row.limit_ns);
  return std::string(kBegin) + numbers.data();
}

std::optional<Row> parse_row(std::string_view line) {
  if (!line.starts_with(kBegin)) return std::nullopt;
  const std::vector<std::string_view> words = split(line.substr(kBegin.size()));
  Row row;
  if (words.size() == kWords && read(words[0], row.bytes) && read(words[1], row.count) &&
      read(words[2], row.samples) && read(words[3], row.batch) && read(words[4], row.p50_ns) &&
      read(words[5], row.p99_ns) && read(words[6], row.wrong) && read(words[7], row.limit_ns))
    return row;
  return std::nullopt;
}

}  // namespace paceline::probe
