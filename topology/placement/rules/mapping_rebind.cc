// What binding rules say of a plan that cost has made.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/try.h"
#include "topology/placement/rules/mapping.h"
#include "topology/placement/rules/mapping_bind.h"
#include "topology/placement/rules/mapping_units.h"

namespace paceline::topology {
namespace {

// Cores, or hardware threads, each of which goes to one rank alone. There are enough.
class Deal {
 public:
  Deal(std::vector<CpuSet> units, std::size_t ranks)
      : free_(std::move(units)), cpus_(ranks), has_(ranks, 0) {}

  // One more for the rank, of `zone`; false where it has got none.
  bool give(std::size_t rank, const CpuSet& zone) {
    const auto unit =
        std::ranges::find_if(free_, [&](const CpuSet& one) { return one.has_any(zone); });
    if (unit == free_.end()) return false;
    cpus_[rank].add(*unit);
    free_.erase(unit);
    ++has_[rank];
    return true;
  }

  int has(std::size_t rank) const { return has_[rank]; }
  std::vector<CpuSet> finish() { return std::move(cpus_); }

 private:
  std::vector<CpuSet> free_;
  std::vector<CpuSet> cpus_;
  std::vector<int> has_;
};

// Around a seat, the nearest first: its NUMA nodes, its packages, the host.
std::vector<CpuSet> zones_around(const HostModel& host, const CpuSet& seat) {
  CpuSet nodes, packages;
  for (const NumaNode& node : cpu_nodes(host))
    if (node.cpus.has_any(seat)) nodes.add(node.cpus);
  for (const Package& package : host.packages)
    if (package.cpus.has_any(seat)) packages.add(package.cpus);
  return {nodes, packages, host.cpus};
}

// Who shares a seat takes turns; what lies outside of it goes to those who lack some at the end.
std::vector<CpuSet> deal(const HostModel& host, const HostUnits& units, const BindRules& rules,
                         const std::vector<CpuSet>& seats) {
  Deal dealt(units.of(rules.counted), seats.size());
  for (int turn = 0; turn < rules.each; ++turn)
    for (std::size_t rank = 0; rank < seats.size(); ++rank) dealt.give(rank, seats[rank]);
  for (std::size_t rank = 0; rank < seats.size(); ++rank)
    if (dealt.has(rank) < rules.each)
      for (const CpuSet& zone : zones_around(host, seats[rank]))
        while (dealt.has(rank) < rules.each && dealt.give(rank, zone)) continue;
  return dealt.finish();
}

// The whole units that a seat lies in.
Result<std::vector<CpuSet>> widen(const HostUnits& units, Unit unit,
                                  const std::vector<CpuSet>& seats) {
  const std::vector<CpuSet> all = units.of(unit);
  const HostUnits::Owners owners = units.owners(all);
  std::vector<CpuSet> wide;
  for (const CpuSet& seat : seats) {
    wide.emplace_back();
    for (const int place : units.touched(owners, seat))
      wide.back().add(all[static_cast<std::size_t>(place)]);
    if (wide.back().is_empty()) return in_no_unit(units, unit, seat);
  }
  return wide;
}

Result<std::vector<CpuSet>> bind_seats(const HostModel& host, const HostUnits& units,
                                       const BindRules& rules, const std::vector<CpuSet>& seats) {
  if (rules.bind_to >= Unit::kNode) return std::vector<CpuSet>(seats.size());
  if (units.cpus().is_empty()) return in_no_unit(units, rules.bind_to, units.cpus());
  const auto asked = static_cast<std::int64_t>(seats.size()) * rules.each;
  const bool is_enough = asked <= units.count(rules.counted, units.cpus());
  if (!is_enough && !rules.may_overload) return too_few(units, rules, seats.size(), units.cpus());
  if (rules.bind_to != rules.counted) return widen(units, rules.bind_to, seats);
  if (is_enough) return deal(host, units, rules, seats);
  std::vector<int> ranks(seats.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
  return bind_at_places(units, rules, seats, ranks, false);
}

Status bind_host(const Cluster& cluster, int number, const BindRules& rules,
                 const std::vector<Placed*>& ranks) {
  const HostModel& host = machine_of(cluster, number);
  const HostUnits units(host, cpus_of(cluster, number));
  std::vector<CpuSet> seats;
  seats.reserve(ranks.size());
  for (const Placed* const rank : ranks)
    seats.push_back(rank->seat.cpus.is_empty() ? units.cpus() : rank->seat.cpus);
  PACELINE_TRY_ASSIGN(std::vector<CpuSet> bound, bind_seats(host, units, rules, seats));
  const std::vector<bool> share = which_share(bound);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    Seat& seat = ranks[i]->seat;
    seat.cpus = std::move(bound[i]);
    seat.numa_nodes = numa_nodes_of(host, seat.cpus);
    seat.shares_cpus = share[i];
    seat.why += (seat.why.empty() ? "" : "; ") + text_of(rules);
  }
  return {};
}

}  // namespace

Status bind_ranks(const Cluster& cluster, const MappingRules& rules, Plan& plan) {
  if (!rules.bind_to && rules.cpus_per_rank == 0) return {};
  PACELINE_TRY_ASSIGN(const BindRules bind, bind_rules_of(rules));
  std::vector<Placed> bound = plan.ranks;
  std::map<int, std::vector<Placed*>> hosts;
  for (Placed& rank : bound) hosts[rank.host].push_back(&rank);
  for (const auto& [host, ranks] : hosts)
    PACELINE_TRY(bind_host(cluster, host, bind, ranks)
                     .with_context("host " + cluster.hosts[static_cast<std::size_t>(host)].name));
  plan.ranks = std::move(bound);
  plan.reasons.push_back("ranks are " + text_of(bind) + ", as the options state");
  return {};
}

}  // namespace paceline::topology
