// Which flows are slow compared with their peers, and which of them waited for CPUs. Pure.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/check/rate_table.h"

namespace paceline::launcher {

/// A host, or a cluster, has a property if this share of its flows has it. Some flows look good by
/// chance.
inline constexpr double kMostOfThem = 0.75;

/// From a host to another, by number.
using Direction = std::pair<int, int>;

/// Of single flows, or of those that ran in both directions at the same time.
class JudgedRates {
 public:
  /// The measurements are borrowed.
  JudgedRates(const probe::Measurements& measured, bool both_ways);

  const RateTable& table() const { return table_; }
  double expected() const { return expected_; }
  double spread() const { return spread_; }
  bool is_slow(const probe::Flow& flow) const { return slow_.contains({flow.from, flow.to}); }
  const std::set<Direction>& slow() const { return slow_; }
  /// The busier end of most flows hardly ever sleeps: rates say what CPUs can do, not links.
  bool is_cpu_bound() const;
  /// The flow waited for the CPUs of this host, which is one of its ends.
  bool waits_for_cpu(const probe::Flow& flow, int host) const;

 private:
  const RateTable table_;
  const double expected_;
  const double spread_;
  double usually_ready_ = 0;  // of the busier end of a flow that is like most
  std::set<Direction> slow_;
};

/// The end of a flow that a host has.
const probe::CpuUse& end_of(const probe::Flow& flow, int host);
/// On a CPU, or ready but without one: a share of the time.
double ready_share(const probe::CpuUse& use);
/// One of the flow's ends was ready nearly all the time, so the flow says nothing about its link.
bool is_bound_by_cpus(const probe::Flow& flow);
/// The control group's quota stopped the thread in many of its periods.
bool is_throttled(const probe::CpuUse& use);

}  // namespace paceline::launcher
