#include "launcher/tools/measure/check/cpu_bound.h"

#include <optional>
#include <string>
#include <utility>

#include "launcher/tools/measure/text_format.h"

namespace paceline::launcher {
namespace {

using probe::CpuUse;
using probe::Flow;
using probe::HostFacts;
using probe::Measurements;

using Flows = std::vector<const Flow*>;

// With less of a CPU than this for a thread that never sleeps, a quota matters.
constexpr double kWholeCpu = 0.92;
// A thread that was ready without a CPU for so much of the time shared it with others.
constexpr double kSharedCpu = 0.2;

std::optional<CpuUse> spin_of(const Measurements& measured, int host) {
  for (const probe::Spin& spin : measured.spins)
    if (spin.host == host) return spin.cpu;
  return std::nullopt;
}

HostFacts facts_of(const Measurements& measured, int host) {
  const auto at = static_cast<std::size_t>(host);
  return at < measured.facts.size() ? measured.facts[at] : HostFacts();
}

// Where a quota holds up a thread that never sleeps: as was seen, or, where others on the machine
// left it less than that at the time, as the kernel says. Empty where it does not.
std::string quota_evidence(const Measurements& measured, int host) {
  const std::optional<CpuUse> spin = spin_of(measured, host);
  if (spin && is_throttled(*spin) && spin->busy < kWholeCpu)
    return text(
        "its cgroup's quota allows a busy thread only %.2f CPUs (it was used up in %.0f %% of its "
        "periods)",
        spin->busy, 100 * spin->throttled);
  const double quota = facts_of(measured, host).cpu_quota;
  if (quota <= 0 || quota >= kWholeCpu) return "";
  return text("its cgroup's quota is %.2f CPUs, less than one thread can use", quota);
}

Flows slow_for_cpu(const JudgedRates& rates, int host) {
  Flows slow;
  for (const bool leaving : {true, false})
    for (const Flow* flow : rates.table().of(host, leaving))
      if (rates.is_slow(*flow) && rates.waits_for_cpu(*flow, host)) slow.push_back(flow);
  return slow;
}

double median_at(const Flows& flows, int host, double CpuUse::*member) {
  std::vector<double> shares;
  shares.reserve(flows.size());
  for (const Flow* flow : flows) shares.push_back(end_of(*flow, host).*member);
  return upper_median(std::move(shares));
}

std::string thread_evidence(const Measurements& measured, int host, const Flows& flows) {
  const double waiting = median_at(flows, host, &CpuUse::waiting);
  std::string evidence =
      text("its thread was on a CPU %.0f %% of the time, and waited for one %.0f %%",
           100 * median_at(flows, host, &CpuUse::busy), 100 * waiting);
  if (waiting < kSharedCpu) return evidence;
  const HostFacts facts = facts_of(measured, host);
  return evidence.append(
      text(": other programs use its CPUs (load average %.1f on %d CPUs before the check)",
           facts.load, facts.cpus_online));
}

}  // namespace

CpuBoundHosts blame_cpus(const Measurements& measured, const JudgedRates& one_way,
                         const JudgedRates& both_ways) {
  CpuBoundHosts found;
  for (int host = 0; host < std::ssize(measured.hosts); ++host) {
    const Flows slow = slow_for_cpu(one_way, host);
    const Flows both = slow_for_cpu(both_ways, host);
    const std::string quota = quota_evidence(measured, host);
    if (quota.empty() && slow.size() < 2 && both.size() < 2) continue;
    for (const Flow* flow : slow) found.explained.emplace_back(flow->from, flow->to);
    const bool is_shown = slow.size() >= 2 || both.empty();  // in the table of rates
    const Flows& flows = is_shown ? slow : both;
    std::string evidence = quota.empty() ? thread_evidence(measured, host, flows) : quota;
    if (!is_shown) evidence.append("; while its links carried data in both directions at once");
    found.blames.push_back({.fault = Fault::kCpuBound,
                            .host = host,
                            .found_bits_per_s = median_rate(flows),
                            .evidence = std::move(evidence)});
  }
  return found;
}

}  // namespace paceline::launcher
