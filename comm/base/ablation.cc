#include "comm/base/ablation.h"

#include <algorithm>
#include <cstddef>

namespace paceline {
namespace {

struct AblatedPart {
  std::string_view name;
  std::string_view words;
  bool Ablation::*field;
};
constexpr AblatedPart kAblatedParts[] = {
    {"comm", "without communication", &Ablation::communication},
    {"input", "with repeated input", &Ablation::input}};

std::string joined_parts(const Ablation& ablation, std::string_view AblatedPart::*text,
                         std::string_view separator) {
  std::string all;
  for (const AblatedPart& part : kAblatedParts)
    if (ablation.*part.field) all.append(all.empty() ? "" : separator).append(part.*text);
  return all;
}

}  // namespace

std::optional<Ablation> Ablation::parse(std::string_view text) {
  Ablation ablation;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const auto* const part =
        std::ranges::find(kAblatedParts, text.substr(at, comma - at), &AblatedPart::name);
    if (part == std::end(kAblatedParts) || ablation.*part->field) return std::nullopt;
    ablation.*part->field = true;
    at = comma + 1;
  }
  return ablation;
}

std::string Ablation::to_text() const { return joined_parts(*this, &AblatedPart::name, ","); }

std::string Ablation::words() const { return joined_parts(*this, &AblatedPart::words, " and "); }

}  // namespace paceline
