#include "topology/model/pcie_link.h"

#include <algorithm>
#include <array>

namespace paceline::topology {
namespace {

struct Speed {
  std::string_view word;
  std::uint64_t hundredths;    // of GT/s
  std::uint64_t payload, raw;  // what is left of `raw` bits
};

constexpr std::array<Speed, 6> kSpeeds = {{{"2.5 GT/s", 250, 8, 10},
                                           {"5 GT/s", 500, 8, 10},
                                           {"8 GT/s", 800, 128, 130},
                                           {"16 GT/s", 1600, 128, 130},
                                           {"32 GT/s", 3200, 128, 130},
                                           {"64.0 GT/s PCIe", 6400, 242, 256}}};
constexpr std::uint64_t kMostWidth = 32;
constexpr std::array<std::uint64_t, 6> kWidths = {16, 12, 8, 4, 2, 1};

// 1 GT/s is 1 Gbit/s on the wire, or 125 MB/s; rounded.
std::uint64_t mb_per_s_of(const Speed& speed, std::uint64_t width) {
  constexpr std::uint64_t kMbPerGbit = 125, kHundred = 100;
  const std::uint64_t above = speed.hundredths * kMbPerGbit * speed.payload * width;
  const std::uint64_t below = kHundred * speed.raw;
  return (above + below / 2) / below;
}

// "16.0 GT/s PCIe" is 1600 hundredths; digits beyond those count for nothing.
std::optional<std::uint64_t> hundredths_of(std::string_view text) {
  constexpr std::size_t kMostDigits = 4;
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view number = text.substr(0, end);
  std::uint64_t value = 0;
  std::size_t digits = 0, decimals = 0;
  bool is_behind_point = false;
  for (const char c : number) {
    if (c == '.' && !is_behind_point && digits > 0) {
      is_behind_point = true;
    } else if (c >= '0' && c <= '9') {
      if (is_behind_point && ++decimals > 2) continue;
      if (++digits > kMostDigits + 2) return std::nullopt;
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
    } else {
      return std::nullopt;
    }
  }
  if (digits == 0) return std::nullopt;
  for (; decimals < 2; ++decimals) value *= 10;
  return value;
}

}  // namespace

std::optional<std::uint64_t> pcie_mb_per_s(std::string_view speed, std::uint64_t width) {
  const auto hundredths = hundredths_of(speed);
  const auto found = std::ranges::find_if(
      kSpeeds, [&](const Speed& known) { return known.hundredths == hundredths; });
  if (found == kSpeeds.end() || width == 0 || width > kMostWidth) return std::nullopt;
  return mb_per_s_of(*found, width);
}

std::optional<PcieLink> pcie_link_of(std::uint64_t mb_per_s) {
  for (const std::uint64_t width : kWidths)
    for (const Speed& speed : kSpeeds)
      if (mb_per_s_of(speed, width) == mb_per_s)
        return PcieLink{.speed = speed.word, .width = static_cast<int>(width)};
  return std::nullopt;
}

}  // namespace paceline::topology
