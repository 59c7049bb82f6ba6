#include "launcher/tools/report/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "comm/base/text.h"
#include "launcher/tools/report/report_words.h"

namespace paceline::launcher {
namespace {

std::span<const StepBlock> warm_blocks(const RunEntry& run) {
  return std::span(run.figures->blocks).subspan(1);
}

std::string obstacle_of(const RunEntry& run) {
  const std::size_t count = run.figures ? run.figures->blocks.size() : 0;
  if (count > kLeastBlocks) return "";
  return "run " + run.id + " has " + std::to_string(count) + " blocks of steps, but " +
         std::to_string(kLeastBlocks + 1) +
         " or more show the noise; a run with 10 s of marked steps, and at least 9 steps, has "
         "enough";
}

// Beyond noise, by Holm's method: the least chance has to be the smallest of all, and so on.
std::vector<bool> beyond_noise(const std::vector<double>& chances) {
  std::vector<std::size_t> order(chances.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&chances](std::size_t i) { return chances[i]; });
  std::vector<bool> beyond(chances.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    if (chances[order[rank]] > kFalseNames / static_cast<double>(order.size() - rank)) break;
    beyond[order[rank]] = true;
  }
  return beyond;
}

Judgement judgement_of(const ComparedQuantity& one, bool is_beyond_noise) {
  if (!is_beyond_noise) return Judgement::kEqual;
  if (std::abs(one.change) < kLeastDifference) return Judgement::kSmall;
  return one.drift > std::abs(one.change) ? Judgement::kDrifted : Judgement::kNamed;
}

std::vector<std::string> other_facts_of(const RunEntry& first, const RunEntry& second) {
  std::vector<std::string> facts;
  if (first.ranks != second.ranks) facts.emplace_back("ranks");
  if (first.hosts != second.hosts) facts.emplace_back("hosts");
  if (first.command != second.command) facts.emplace_back("command");
  if (first.directory != second.directory) facts.emplace_back("folder");
  if (first.ablated != second.ablated) facts.emplace_back("--ablate");
  return facts;
}

}  // namespace

RunComparison compare_runs(const RunEntry& first, const RunEntry& second) {
  RunComparison made{.obstacle = obstacle_of(first),
                     .quantities = {},
                     .other_facts = other_facts_of(first, second)};
  if (made.obstacle.empty()) made.obstacle = obstacle_of(second);
  if (!made.obstacle.empty()) return made;
  const double step = step_mean(warm_blocks(first), Quantity::kStep);
  std::vector<double> chances;
  for (const Quantity quantity : kQuantities) {
    ComparedQuantity one{.quantity = quantity,
                         .first = step_estimate(warm_blocks(first), quantity),
                         .second = step_estimate(warm_blocks(second), quantity)};
    const auto [least, most] = std::minmax(one.first.mean, one.second.mean);
    const bool is_marked_in_both = quantity != Quantity::kRate || least > 0;
    if (most <= 0 || !is_marked_in_both) continue;
    const double unit = quantity == Quantity::kRate ? one.first.mean : step;
    const MeanDifference found = mean_difference(one.first, one.second);
    one.change = found.difference / unit;
    one.drift = std::max(std::abs(one.first.drift), std::abs(one.second.drift)) / unit;
    const double t = student_t(kFalseNames / std::size(kQuantities), found.freedom);
    one.named_from = std::max(kLeastDifference, t * found.error / unit);
    chances.push_back(found.chance);
    made.quantities.push_back(one);
  }
  const std::vector<bool> beyond = beyond_noise(chances);
  for (std::size_t i = 0; i < beyond.size(); ++i)
    made.quantities[i].judgement = judgement_of(made.quantities[i], beyond[i]);
  return made;
}

bool is_told(const ComparedQuantity& one) {
  return one.judgement == Judgement::kNamed || one.judgement == Judgement::kDrifted;
}

std::string difference_words(const ComparedQuantity& one) {
  const std::string what(name(one.quantity));
  const bool is_rate = one.quantity == Quantity::kRate;
  const auto value = is_rate ? number_words : step_words;
  if (one.judgement == Judgement::kDrifted)
    return "The runs cannot tell whether their " + what + " differs: between them it changes by " +
           share_words(std::abs(one.change)) + ", but between the halves of one run by " +
           share_words(one.drift);
  const std::string values = value(one.second.mean) + " instead of " + value(one.first.mean);
  const std::string size = share_words(std::abs(one.change));
  if (one.quantity == Quantity::kStep)
    return "Steps of the second run are " + size + (one.change > 0 ? " slower: " : " faster: ") +
           values;
  if (is_rate)
    return "The second run has " + size + (one.change > 0 ? " more" : " fewer") +
           " samples per second: " + values;
  return "In the second run, " + what + " takes " +
         step_words(std::abs(one.second.mean - one.first.mean)) +
         (one.change > 0 ? " more" : " less") + " of a step: " + values;
}

std::string other_facts_words(const RunComparison& comparison) {
  if (comparison.other_facts.empty()) return "";
  return "The runs also differ in: " + joined(comparison.other_facts, ", ") + ".";
}

std::string no_difference_words(const RunComparison& comparison) {
  if (!comparison.obstacle.empty()) return "The runs cannot be compared: " + comparison.obstacle;
  const bool has_small = std::ranges::any_of(
      comparison.quantities,
      [](const ComparedQuantity& one) { return one.judgement == Judgement::kSmall; });
  if (has_small) return "Differences are beyond noise, but below " + share_words(kLeastDifference);
  if (comparison.quantities.empty()) return "No difference is beyond noise";
  return "No difference is beyond noise. A step time that differs by " +
         share_words(comparison.quantities.front().named_from) + " or more would be";
}

}  // namespace paceline::launcher
