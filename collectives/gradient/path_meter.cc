#include "collectives/gradient/path_meter.h"

#include <algorithm>
#include <bit>

namespace paceline {
namespace {

double lower_quartile(std::vector<double> times) {
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
  std::ranges::nth_element(times, at);
  return *at;
}

}  // namespace

void PathMeter::add(std::size_t bytes, double took_us) {
  Class& alike =
      classes_[static_cast<std::size_t>(std::bit_width(std::max<std::size_t>(bytes, 1))) - 1];
  if (alike.took_us.size() == kMostTimes) return;
  alike.took_us.push_back(took_us);
  alike.bytes += static_cast<double>(bytes);
}

void PathMeter::clear() { classes_.fill({}); }

PathCost PathMeter::cost() const {
  const auto is_used = [](const Class& one) { return !one.took_us.empty(); };
  const auto least = std::ranges::find_if(classes_, is_used);
  if (least == classes_.end()) return {};
  const auto most = std::find_if(classes_.rbegin(), classes_.rend(), is_used);
  const auto mean_bytes = [](const Class& one) {
    return one.bytes / static_cast<double>(one.took_us.size());
  };
  const double least_us = lower_quartile(least->took_us), most_us = lower_quartile(most->took_us);
  const double more_bytes = mean_bytes(*most) - mean_bytes(*least);
  PathCost cost;
  if (more_bytes > 0) cost.beta_us = std::max(0.0, (most_us - least_us) / more_bytes);
  cost.alpha_us = std::max(kLeastAlphaUs, least_us - cost.beta_us * mean_bytes(*least));
  return cost;
}

}  // namespace paceline
