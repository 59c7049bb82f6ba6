#include "launcher/tools/measure/check/judged_rates.h"

#include <algorithm>

namespace paceline::launcher {
namespace {

using probe::CpuUse;
using probe::Flow;

// A flow is slow where it is this many deviations below what is expected, and by at least and at
// most these shares of it: below the first, links of the same kind differ by themselves; where
// rates lie so far apart that the second is not enough, nothing is known.
constexpr double kDeviations = 4;
constexpr double kLeastGap = 0.12;
constexpr double kMostGap = 0.22;
// A thread that is on a CPU, or ready to be, so much of the time does not wait for a link; and that
// by so much more than its peers.
constexpr double kAlwaysReady = 0.8;
constexpr double kMoreThanPeers = 0.25;
// Whose quota was used up in so many of its periods was held up by it.
constexpr double kThrottled = 0.3;

double busier_end(const Flow& flow) {
  return std::max(ready_share(flow.sender), ready_share(flow.receiver));
}

}  // namespace

double ready_share(const CpuUse& use) { return std::min(1.0, use.busy + use.waiting); }

bool is_bound_by_cpus(const Flow& flow) { return busier_end(flow) >= kAlwaysReady; }

bool is_throttled(const CpuUse& use) { return use.throttled >= kThrottled; }

const CpuUse& end_of(const Flow& flow, int host) {
  return host == flow.from ? flow.sender : flow.receiver;
}

JudgedRates::JudgedRates(const probe::Measurements& measured, bool both_ways)
    : table_(measured, both_ways), expected_(table_.expected()), spread_(table_.spread(expected_)) {
  const double gap = std::clamp(kDeviations * spread_, kLeastGap, kMostGap);
  std::vector<double> ready;
  for (const Flow* flow : table_.all()) {
    if (flow->bits_per_s < (1 - gap) * expected_) slow_.emplace(flow->from, flow->to);
    ready.push_back(busier_end(*flow));
  }
  usually_ready_ = upper_median(std::move(ready));
}

bool JudgedRates::is_cpu_bound() const { return usually_ready_ >= kAlwaysReady; }

bool JudgedRates::waits_for_cpu(const Flow& flow, int host) const {
  const CpuUse& use = end_of(flow, host);
  const double ready = ready_share(use);
  return is_throttled(use) || (ready >= kAlwaysReady && ready >= usually_ready_ + kMoreThanPeers);
}

}  // namespace paceline::launcher
