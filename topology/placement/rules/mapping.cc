#include "topology/placement/rules/mapping.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "comm/base/try.h"
#include "topology/model/at.h"
#include "topology/placement/rules/mapping_bind.h"
#include "topology/placement/rules/mapping_devices.h"
#include "topology/placement/rules/mapping_hosts.h"
#include "topology/placement/rules/mapping_order.h"
#include "topology/placement/rules/mapping_units.h"

namespace paceline::topology {
namespace {

// The rules with what follows from those that are not stated.
struct Choice {
  Unit map_by = Unit::kSlot;
  Unit rank_by = Unit::kSlot;
  BindRules bind;
  bool must_bind = false;     // it is stated
  bool keeps_to_unit = true;  // a rank with several cores has all of them in what it is mapped to
};

// Hosts of which nobody has told NUMA nodes are mapped by package, and without those by slot.
Unit unit_for_many(const Cluster& cluster, const std::vector<int>& slots) {
  const auto all_have = [&](auto has) {
    for (std::size_t host = 0; host < slots.size(); ++host)
      if (slots[host] > 0 && !has(machine_of(cluster, static_cast<int>(host)))) return false;
    return true;
  };
  if (all_have([](const HostModel& host) { return !cpu_nodes(host).empty(); })) return Unit::kNuma;
  const bool has_packages = all_have([](const HostModel& host) { return !host.packages.empty(); });
  return has_packages ? Unit::kPackage : Unit::kSlot;
}

// As Open MPI 4.1.4 chooses, asked by mpirun --do-not-launch --display-devel-map:
//
//   mapped by   up to 2 ranks core, more of them numa; with --cpus-per-rank n always numa
//   ranked by   what is stated to map by; by slot with ppr:N:unit and where nothing is stated
//   bound to    n cores with PE=n; what is stated to map by; else, and for slot, node and
//               ppr:N:unit, up to 2 ranks core, more of them numa
//   a CPU is    a core, but a hardware thread where one maps by or binds to those
Result<Choice> choose(const Cluster& cluster, int ranks, const std::vector<int>& slots,
                      const MappingRules& rules) {
  Choice choice;
  PACELINE_TRY_ASSIGN(choice.bind, bind_rules_of(rules));
  const bool is_ppr = rules.ranks_per_unit > 0;
  const Unit many = unit_for_many(cluster, slots);
  const Unit few = ranks <= 2 ? choice.bind.counted : many;
  choice.map_by = rules.map_by.value_or(rules.cpus_per_rank > 1 ? many : few);
  choice.rank_by = rules.map_by && !is_ppr ? *rules.map_by : Unit::kSlot;
  // Fill and span without a unit, as Open MPI 5 has them, mean what is mapped by.
  if (rules.rank_order != RankOrder::kCycle) choice.rank_by = choice.map_by;
  choice.rank_by = rules.rank_by.value_or(choice.rank_by);
  choice.keeps_to_unit = !is_ppr;
  choice.must_bind = rules.bind_to || rules.cpus_per_rank > 0;
  const bool maps_to_part = rules.map_by && !is_ppr && *rules.map_by < Unit::kNode;
  if (!choice.must_bind) choice.bind.bind_to = maps_to_part ? *rules.map_by : few;
  return choice;
}

// By mapped host and its ranks; no CPUs where they are not bound.
struct Bound {
  std::vector<std::vector<CpuSet>> cpus;
  std::string how;  // for people
};

Bound not_bound(const std::vector<MappedHost>& hosts, const std::string& how) {
  Bound bound{.cpus = {}, .how = how};
  for (const MappedHost& mapped : hosts) bound.cpus.emplace_back(mapped.ranks.size());
  return bound;
}

Status too_small(const MappedHost& mapped, const BindRules& rules, Unit map_by) {
  for (const int rank : mapped.ranks) {
    const CpuSet& place = mapped.places[at(rank)];
    const int there = mapped.units.count(rules.counted, place);
    if (there < rules.each)
      return {Code::kInvalidArgument, Scope::kOperation,
              "each rank needs " + counted_text(rules.each, rules.counted) + ", but " +
                  mapped.units.text(map_by, place) + " has " + std::to_string(there)};
  }
  return {};
}

Result<Bound> bind_all(const Cluster& cluster, const std::vector<MappedHost>& hosts,
                       const Choice& choice) {
  if (choice.bind.bind_to >= Unit::kNode) return not_bound(hosts, text_of(choice.bind));
  Bound all{.cpus = {}, .how = text_of(choice.bind)};
  for (const MappedHost& mapped : hosts) {
    const std::string name = "host " + cluster.hosts[at(mapped.host)].name;
    if (choice.bind.each > 1 && choice.keeps_to_unit)
      PACELINE_TRY(too_small(mapped, choice.bind, choice.map_by).with_context(name));
    auto bound = bind_at_places(mapped.units, choice.bind, mapped.places, mapped.ranks,
                                choice.bind.bind_to == choice.map_by);
    if (!bound.ok() && choice.must_bind) return bound.status().with_context(name);
    if (!bound.ok())
      return not_bound(hosts, "not bound: " + bound.status().with_context(name).text());
    all.cpus.push_back(*std::move(bound));
  }
  return all;
}

// For people: where a rank is, and what it is bound to.
std::string why(const MappedHost& mapped, Unit map_by, const CpuSet& place, const Bound& bound) {
  std::string text = "mapped by " + std::string(word_of(map_by));
  if (map_by < Unit::kNode) text += ": " + mapped.units.text(map_by, place);
  return text + "; " + bound.how;
}

// Of one host, by local rank.
std::vector<Seat> seats_of(const HostModel& host, std::vector<Seat> seats,
                           const std::vector<CpuSet>& near, const JobShape& job,
                           bool crosses_hosts) {
  std::vector<int> gpus(seats.size(), kNone), nics(seats.size(), kNone);
  if (job.uses_gpus) gpus = spread_gpus(host, near);
  if (crosses_hosts) nics = nics_of_ranks(host, gpus, near);
  std::vector<CpuSet> cpus;
  cpus.reserve(seats.size());
  for (const Seat& seat : seats) cpus.push_back(seat.cpus);
  const std::vector<bool> share = which_share(cpus);
  for (std::size_t i = 0; i < seats.size(); ++i) {
    seats[i].gpu = gpus[i];
    seats[i].nic = nics[i];
    seats[i].numa_nodes = numa_nodes_of(host, seats[i].cpus);
    seats[i].shares_cpus = share[i];
  }
  return seats;
}

class Seating {
 public:
  Seating(const Cluster& cluster, const std::vector<MappedHost>& hosts,
          const std::vector<MappedRank>& ranks)
      : cluster_(cluster), hosts_(hosts), ranks_(ranks) {}

  std::vector<Placed> seat(const JobShape& job, Unit map_by, const Bound& bound) const {
    std::vector<std::vector<std::size_t>> local(hosts_.size());  // ranks, by host
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      local[at(ranks_[rank].host)].push_back(rank);
    std::vector<Placed> placed(ranks_.size());
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      const MappedHost& mapped = hosts_[i];
      std::vector<Seat> seats;
      std::vector<CpuSet> near;
      for (const std::size_t rank : local[i]) {
        const std::size_t order = at(ranks_[rank].place);
        const CpuSet& place = mapped.places[at(mapped.ranks[order])];
        const CpuSet& cpus = bound.cpus[i][order];
        near.push_back(cpus.is_empty() ? place : cpus);
        seats.push_back({.cpus = cpus, .why = why(mapped, map_by, place, bound)});
      }
      seats = seats_of(machine_of(cluster_, mapped.host), std::move(seats), near, job,
                       hosts_.size() > 1);
      for (std::size_t j = 0; j < seats.size(); ++j)
        placed[local[i][j]] = {.host = mapped.host, .seat = std::move(seats[j])};
    }
    return placed;
  }

 private:
  const Cluster& cluster_;
  const std::vector<MappedHost>& hosts_;
  const std::vector<MappedRank>& ranks_;
};

}  // namespace

Result<Plan> map_ranks(const Cluster& cluster, const JobShape& job, const std::vector<int>& slots,
                       const MappingRules& rules) {
  PACELINE_TRY_ASSIGN(const Choice choice, choose(cluster, job.ranks, slots, rules));
  PACELINE_TRY_ASSIGN(const std::vector<MappedHost> hosts,
                      map_to_units(cluster, job.ranks, slots, rules, choice.map_by));
  for (const MappedHost& mapped : hosts)
    if (choice.rank_by < Unit::kNode && mapped.units.of(choice.rank_by).empty())
      return unknown_unit(cluster, mapped.host, choice.rank_by, "ranked");
  PACELINE_TRY_ASSIGN(const Bound bound, bind_all(cluster, hosts, choice));
  const std::vector<MappedRank> ranks = number_ranks(hosts, choice.rank_by, rules.rank_order);
  Plan plan;
  plan.ranks = Seating(cluster, hosts, ranks).seat(job, choice.map_by, bound);
  plan.reasons.push_back("ranks are placed by the options, not by cost: mapped by " +
                         std::string(word_of(choice.map_by)) + ", ranked by " +
                         std::string(word_of(choice.rank_by)) + ", " + bound.how);
  return plan;
}

}  // namespace paceline::topology
