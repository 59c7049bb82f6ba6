#include "topology/model/path_kind.h"

#include <algorithm>
#include <cstddef>

namespace paceline::topology {
std::string_view word_of(PathKind kind) { return kPathWords[static_cast<std::size_t>(kind)]; }

std::optional<PathKind> parse_path_kind(std::string_view word) {
  const auto found = std::ranges::find(kPathWords, word);
  if (found == kPathWords.end()) return std::nullopt;
  return static_cast<PathKind>(found - kPathWords.begin());
}

}  // namespace paceline::topology
