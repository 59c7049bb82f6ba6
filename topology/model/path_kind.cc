#include "topology/model/path_kind.h"

#include <algorithm>
#include <array>

namespace paceline::topology {
namespace {

constexpr std::array<std::string_view, 8> kWords = {"LOC", "NVL",  "PIX", "PXB",
                                                    "PHB", "NODE", "SYS", "NET"};

}  // namespace

std::string_view word_of(PathKind kind) { return kWords[static_cast<std::size_t>(kind)]; }

std::optional<PathKind> parse_path_kind(std::string_view word) {
  const auto found = std::ranges::find(kWords, word);
  if (found == kWords.end()) return std::nullopt;
  return static_cast<PathKind>(found - kWords.begin());
}

}  // namespace paceline::topology
