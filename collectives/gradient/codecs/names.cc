// Codecs by the names that people give them.

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <paceline/gradient_pipeline.h>

namespace paceline {
namespace {

constexpr std::array<std::string_view, kCodecs> kNames = {"none", "bf16",     "fp16", "int8",
                                                          "topk", "powersgd", "auto"};

}  // namespace

std::string_view name(Codec codec) {
  const auto at = static_cast<std::size_t>(codec);
  return at < kNames.size() ? kNames[at] : "unknown";
}

std::optional<Codec> parse_codec(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Codec>(found - kNames.begin());
}

}  // namespace paceline
