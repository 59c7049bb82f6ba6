#include "launcher/tools/measure/check/baseline.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace paceline::launcher {
namespace {

// Links of virtual machines and shared switches vary by less than this from day to day.
constexpr double kGap = 0.15;

}  // namespace

bool Comparison::all_are_slow() const {
  return !slow.empty() &&
         static_cast<double>(slow.size()) >= kMostOfThem * static_cast<double>(measured);
}

Comparison compare(const RateTable& now, const probe::Measurements& measured,
                   const probe::Measurements& baseline) {
  const RateTable before(baseline, false);
  std::map<std::string, int> numbers;
  for (std::size_t i = 0; i < baseline.hosts.size(); ++i)
    numbers.emplace(baseline.hosts[i], static_cast<int>(i));
  const auto number_before = [&](int host) {
    const auto found = numbers.find(measured.hosts[static_cast<std::size_t>(host)]);
    return found == numbers.end() ? -1 : found->second;
  };
  Comparison comparison{.measured = now.all().size()};
  std::vector<double> rates_before, rates_now;
  for (const probe::Flow* flow : now.all()) {
    const int from = number_before(flow->from), to = number_before(flow->to);
    const probe::Flow* const earlier = from < 0 || to < 0 ? nullptr : before.flow(from, to);
    if (earlier == nullptr) continue;
    comparison.before.emplace(Direction(flow->from, flow->to), earlier->bits_per_s);
    rates_before.push_back(earlier->bits_per_s);
    rates_now.push_back(flow->bits_per_s);
    if (flow->bits_per_s < (1 - kGap) * earlier->bits_per_s)
      comparison.slow.emplace(flow->from, flow->to);
  }
  comparison.median_before = upper_median(std::move(rates_before));
  comparison.median_now = upper_median(std::move(rates_now));
  return comparison;
}

}  // namespace paceline::launcher
