#include "launcher/options/nearest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace paceline::launcher {
namespace {

constexpr std::size_t kMaxChanges = 3;

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> to(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) to[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) to[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      to[i][j] = std::min({to[i - 1][j] + 1, to[i][j - 1] + 1, to[i - 1][j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) to[i][j] = std::min(to[i][j], to[i - 2][j - 2] + 1);
    }
  }
  return to[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> known) {
  std::string best;
  std::size_t best_distance = kMaxChanges + 1;
  for (const std::string& candidate : known) {
    const std::size_t allowed = (std::max(word.size(), candidate.size()) + 2) / 3;
    const std::size_t changes = distance(word, candidate);
    if (changes > allowed || changes >= best_distance) continue;
    best = candidate;
    best_distance = changes;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string best = nearest(word, known);
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

}  // namespace paceline::launcher
