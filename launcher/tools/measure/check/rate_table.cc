#include "launcher/tools/measure/check/rate_table.h"

#include <algorithm>
#include <cmath>

namespace paceline::launcher {
namespace {

// Of normally distributed values: from the median distance to the standard deviation.
constexpr double kToDeviation = 1.4826;

}  // namespace

RateTable::RateTable(const probe::Measurements& measured, bool both_ways)
    : hosts_(measured.hosts.size()), flows_(hosts_ * hosts_) {
  const auto count = static_cast<int>(hosts_);
  for (const probe::Flow& flow : measured.flows) {
    const bool are_hosts = flow.from >= 0 && flow.from < count && flow.to >= 0 && flow.to < count;
    if (!are_hosts || flow.both_ways != both_ways || flow.bits_per_s <= 0) continue;
    const probe::Flow*& best =
        flows_[static_cast<std::size_t>(flow.from) * hosts_ + static_cast<std::size_t>(flow.to)];
    if (best == nullptr || best->bits_per_s < flow.bits_per_s) best = &flow;
  }
}

const probe::Flow* RateTable::flow(int from, int to) const {
  return flows_[static_cast<std::size_t>(from) * hosts_ + static_cast<std::size_t>(to)];
}

std::vector<const probe::Flow*> RateTable::all() const {
  std::vector<const probe::Flow*> measured;
  std::copy_if(flows_.begin(), flows_.end(), std::back_inserter(measured),
               [](const probe::Flow* flow) { return flow != nullptr; });
  return measured;
}

std::vector<const probe::Flow*> RateTable::of(int host, bool leaving) const {
  std::vector<const probe::Flow*> measured;
  for (int other = 0; other < hosts(); ++other) {
    const probe::Flow* const one = leaving ? flow(host, other) : flow(other, host);
    if (one != nullptr) measured.push_back(one);
  }
  return measured;
}

double RateTable::expected() const {
  std::vector<double> medians;
  for (int host = 0; host < hosts(); ++host)
    if (const auto leaving = of(host, true); !leaving.empty())
      medians.push_back(median_rate(leaving));
  return upper_median(std::move(medians));
}

double RateTable::spread(double expected, const std::set<int>& without) const {
  if (expected <= 0) return 0;
  std::vector<double> distances;
  for (const probe::Flow* flow : all())
    if (!without.contains(flow->from) && !without.contains(flow->to))
      distances.push_back(std::abs(flow->bits_per_s - expected));
  return kToDeviation * upper_median(std::move(distances)) / expected;
}

double median_rate(const std::vector<const probe::Flow*>& flows) {
  std::vector<double> rates;
  rates.reserve(flows.size());
  for (const probe::Flow* flow : flows) rates.push_back(flow->bits_per_s);
  return upper_median(std::move(rates));
}

double upper_median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace paceline::launcher
