#include "launcher/tools/measure/check/judged_rates.h"

#include <algorithm>

namespace paceline::launcher {
namespace {

using probe::CpuUse;
using probe::Flow;

// A flow is slow if it is this many deviations below the expected rate.
constexpr double kDeviations = 4;
// Min and max of that gap, as shares of the expected rate. Links of one kind differ by less than
// the min. If rates differ by more than the max, nothing is known.
constexpr double kLeastGap = 0.12;
constexpr double kMostGap = 0.22;
// A thread that is on a CPU, or ready to be, for this share of the time does not wait for a link.
constexpr double kAlwaysReady = 0.8;
// CPUs of a host are blamed if its threads are ready for this much more of the time than most.
constexpr double kMoreThanPeers = 0.25;
// A quota held up a thread if it was used up in this share of its periods.
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
