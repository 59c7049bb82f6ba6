#include "launcher/tools/report/change_point.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "launcher/tools/report/step_estimate.h"

namespace paceline::launcher {
namespace {

constexpr double kLeastChange = 0.05;
constexpr double kFalseChanges = 0.001;  // chance in a run whose steps do not change

struct Split {
  std::size_t at = 0;
  double seen = 0;
};

// Least squares: the split whose sides differ most, by the number of their steps.
Split best_split(std::span<const StepBlock> blocks) {
  Split best;
  for (std::size_t at = kLeastBlocks; at + kLeastBlocks <= blocks.size(); ++at) {
    const double before = step_mean(blocks.first(at), Quantity::kStep);
    const double after = step_mean(blocks.subspan(at), Quantity::kStep);
    const auto one = static_cast<double>(at), other = static_cast<double>(blocks.size() - at);
    const double seen = std::abs(after - before) * std::sqrt(one * other);
    if (seen > best.seen) best = {.at = at, .seen = seen};
  }
  return best;
}

double time_of(std::span<const StepBlock> blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), 0.0,
                         [](double sum, const StepBlock& one) { return sum + one.seconds(); });
}

StepPart changed_part(std::span<const StepBlock> before, std::span<const StepBlock> after,
                      bool is_slower) {
  const auto change = [&](Quantity part) {
    const double more = step_mean(after, part) - step_mean(before, part);
    return is_slower ? more : -more;
  };
  const Quantity most =
      *std::max_element(std::begin(kQuantities) + 2, std::end(kQuantities),
                        [&](Quantity one, Quantity other) { return change(one) < change(other); });
  return static_cast<StepPart>(static_cast<int>(most) - static_cast<int>(Quantity::kCompute));
}

}  // namespace

// As many splits were possible as the test has to answer for.
std::optional<ChangePoint> change_point(std::span<const StepBlock> blocks) {
  const Split split = best_split(blocks);
  if (split.at == 0) return std::nullopt;
  const auto before = blocks.first(split.at), after = blocks.subspan(split.at);
  const StepEstimate early = step_estimate(before, Quantity::kStep);
  const StepEstimate late = step_estimate(after, Quantity::kStep);
  const double least = std::min(early.mean, late.mean);
  const MeanDifference found = mean_difference(early, late);
  const auto splits = static_cast<double>(blocks.size() - 2 * kLeastBlocks + 1);
  if (std::abs(found.difference) < kLeastChange * least || found.chance * splits > kFalseChanges)
    return std::nullopt;
  const bool is_slower = found.difference > 0;
  const double slow_s = time_of(is_slower ? after : before);
  return ChangePoint{.at_s = time_of(before),
                     .before_s = early.mean,
                     .after_s = late.mean,
                     .lost_s = slow_s * (1 - least / std::max(early.mean, late.mean)),
                     .part = changed_part(before, after, is_slower)};
}

}  // namespace paceline::launcher
