#include "topology/read/hwloc_mask.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>

namespace paceline::topology {
namespace {

constexpr std::string_view kEndless = "0xf...f";
constexpr std::size_t kWordBits = 32;

// An empty word is 0.
std::optional<std::uint32_t> parse_word(std::string_view text) {
  if (text.empty()) return 0;
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint32_t word = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, word, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return word;
}

}  // namespace

CpuSet HwlocMask::within(const CpuSet& all) const {
  CpuSet bounded = set;
  if (!is_endless) return bounded;
  for (const std::size_t cpu : all.cpus())
    if (cpu >= end) bounded.add(cpu);
  return bounded;
}

std::optional<HwlocMask> parse_hwloc_mask(std::string_view text) {
  if (text.empty()) return std::nullopt;
  HwlocMask mask;
  if (text.starts_with(kEndless)) {
    mask.is_endless = true;
    text.remove_prefix(kEndless.size());
    if (text.empty()) return mask;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
  const auto words = static_cast<std::size_t>(std::ranges::count(text, ',')) + 1;
  mask.end = words * kWordBits;
  if (mask.end > CpuSet::kMostCpus) return std::nullopt;
  for (std::size_t bit = mask.end; bit > 0;) {
    bit -= kWordBits;
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto word = parse_word(text.substr(0, comma));
    if (!word) return std::nullopt;
    for (std::uint32_t left = *word; left != 0; left &= left - 1)
      mask.set.add(bit + static_cast<std::size_t>(std::countr_zero(left)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return mask;
}

}  // namespace paceline::topology
