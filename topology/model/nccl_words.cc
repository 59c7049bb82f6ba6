#include "topology/model/nccl_words.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace paceline::topology {
namespace {

constexpr std::size_t kWordBits = 32, kWordDigits = 8;
constexpr std::size_t kMostWords = CpuSet::kMostCpus / kWordBits;

template <class T>
std::optional<T> hexadecimal(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

bool starts_with_0x(std::string_view text) {
  return text.starts_with("0x") || text.starts_with("0X");
}

std::uint64_t bytes_swapped(std::uint64_t value) {
  std::uint64_t swapped = 0;
  for (int i = 0; i < 8; ++i) swapped = swapped << 8 | (value >> (8 * i) & 0xff);
  return swapped;
}

}  // namespace

std::optional<CpuMask> parse_cpu_mask(std::string_view text) {
  CpuMask mask;
  std::vector<std::uint32_t> words;  // the highest first
  while (!text.empty()) {
    const std::size_t size = std::min(text.find(','), text.size());
    const auto word = hexadecimal<std::uint32_t>(text.substr(0, size));
    if (!word || size > kWordDigits || words.size() == kMostWords) return std::nullopt;
    if (words.empty()) {
      mask.first_digits = static_cast<int>(size);
    } else if (size < kWordDigits) {
      mask.short_digits = static_cast<int>(size);
    }
    words.push_back(*word);
    if (size == text.size()) break;
    text.remove_prefix(size + 1);
    if (text.empty()) return std::nullopt;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t word = words[words.size() - 1 - i];
    for (std::size_t bit = 0; bit < kWordBits; ++bit)
      if ((word >> bit & 1) != 0) mask.cpus.add(i * kWordBits + bit);
  }
  return mask;
}

std::string cpu_mask_text(const CpuSet& cpus) {
  std::vector<std::uint32_t> words(1);
  for (const std::size_t cpu : cpus.cpus()) {
    words.resize(std::max(words.size(), cpu / kWordBits + 1));
    words[cpu / kWordBits] |= std::uint32_t{1} << (cpu % kWordBits);
  }
  std::string text;
  for (std::size_t i = words.size(); i-- > 0;) {
    char word[kWordDigits + 1];
    std::snprintf(word, sizeof word, "%08x", words[i]);
    text.append(text.empty() ? "" : ",").append(word);
  }
  return text;
}

std::optional<std::string> class_digits(std::string_view text) {
  constexpr std::size_t kMostDigits = 6;
  if (starts_with_0x(text)) text.remove_prefix(2);
  if (text.empty()) return std::string();
  if (text.size() > kMostDigits || !hexadecimal<std::uint32_t>(text)) return std::nullopt;
  std::string digits(text.size() % 2, '0');  // a program has printed it as a number
  for (const char c : text) digits += c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  return digits;
}

std::optional<std::string> guid_of_nccl(std::string_view text) {
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 32;
  if (starts_with_0x(text)) text.remove_prefix(2);
  const auto value = hexadecimal<std::uint64_t>(text);
  if (!value || *value < kLeast) return std::nullopt;
  const std::uint64_t guid = bytes_swapped(*value);
  char shown[20];
  std::snprintf(shown, sizeof shown, "%04x:%04x:%04x:%04x", static_cast<unsigned>(guid >> 48),
                static_cast<unsigned>(guid >> 32 & 0xffff),
                static_cast<unsigned>(guid >> 16 & 0xffff), static_cast<unsigned>(guid & 0xffff));
  return shown;
}

std::optional<std::string> guid_for_nccl(std::string_view guid) {
  std::string digits(guid);
  std::erase(digits, ':');
  const auto value = hexadecimal<std::uint64_t>(digits);
  if (!value || *value == 0) return std::nullopt;
  char shown[20];
  std::snprintf(shown, sizeof shown, "0x%llx",
                static_cast<unsigned long long>(bytes_swapped(*value)));
  return shown;
}

}  // namespace paceline::topology
