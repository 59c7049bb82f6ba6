#include "launcher/options/host_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "comm/base/try.h"
#include "topology/placement/rules/mapping_counts.h"

namespace paceline::launcher {
namespace {

constexpr int kUnbounded = std::numeric_limits<int>::max();

struct Room {
  HostSlots host;
  int ranks = 0;

  int left(int most) const { return std::min(host.slots.value_or(kUnbounded), most) - ranks; }
};

int most_of(const ShareRules& rules) {
  return rules.max_per_host == 0 ? kUnbounded : rules.max_per_host;
}

std::vector<Room> rooms_of(std::span<const HostSlots> hosts) {
  std::vector<Room> rooms;
  for (HostSlots& host : merged_hosts(hosts)) rooms.push_back({.host = std::move(host)});
  return rooms;
}

// As in Open MPI 4.1: a mapping by nodes ignores slots if there are too few of them. Any other
// mapping adds the missing slots evenly to the hosts.
void add_missing_slots(const ShareRules& rules, std::vector<Room>& rooms) {
  const bool has_any = std::ranges::any_of(rooms, [](const Room& one) { return !one.host.slots; });
  std::int64_t missing = rules.ranks;
  for (const Room& room : rooms) missing -= room.host.slots.value_or(0);
  if (has_any || missing <= 0) return;
  const bool takes_notice = topology::fills_hosts(rules.mapping);
  auto hosts = static_cast<std::int64_t>(rooms.size());
  for (Room& room : rooms) {
    const std::int64_t more = (missing + hosts - 1) / hosts;
    missing -= more;
    --hosts;
    if (takes_notice)
      *room.host.slots += static_cast<int>(more);
    else
      room.host.slots.reset();
  }
}

int fill_stated(std::vector<Room>& rooms, int ranks, int most) {
  for (Room& room : rooms) {
    if (!room.host.slots) continue;
    room.ranks = std::min(room.left(most), ranks);
    ranks -= room.ranks;
  }
  return ranks;
}

int fill_others_evenly(std::vector<Room>& rooms, int ranks, int most) {
  auto others = static_cast<int>(
      std::count_if(rooms.begin(), rooms.end(), [](const Room& room) { return !room.host.slots; }));
  for (Room& room : rooms) {
    if (room.host.slots) continue;
    room.ranks = std::min(room.left(most), (ranks + others - 1) / others);
    ranks -= room.ranks;
    --others;
  }
  return ranks;
}

Status too_many(std::span<const Room> rooms, int ranks, int most) {
  std::int64_t slots = 0;
  for (const Room& room : rooms) slots += room.ranks;
  const std::string there = std::to_string(slots) + (slots == 1 ? " slot" : " slots");
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "the job has " + std::to_string(ranks) + " ranks, but its hosts have " + there +
                    (most == kUnbounded ? "" : " with at most " + std::to_string(most) + " each") +
                    "; ask for fewer ranks, or give the hosts more slots");
}

// The hosts that get ranks, with their numbers of ranks.
std::vector<HostShare> filled(const std::vector<Room>& rooms, int most) {
  std::vector<HostShare> shares;
  for (const Room& room : rooms) {
    if (room.ranks == 0) continue;
    shares.push_back({.host = room.host.name,
                      .ranks = room.ranks,
                      .slots = std::min(room.host.slots.value_or(room.ranks), most)});
  }
  return shares;
}

// All hosts from which the cost may choose. A host without stated slots gets at most an even share.
std::vector<HostShare> considered(const std::vector<Room>& rooms, int ranks, int most) {
  int even = 0;
  for (const Room& room : rooms)
    if (!room.host.slots) even = std::max(even, room.ranks);
  std::vector<HostShare> shares;
  for (const Room& room : rooms) {
    const int slots = std::min(room.host.slots.value_or(even), most);
    if (slots == 0) continue;
    shares.push_back({.host = room.host.name, .ranks = std::min(slots, ranks), .slots = slots});
  }
  return shares;
}

// The hosts of a mapping that does not fill one host after the other. A host without stated slots
// counts as having one slot for each rank.
Result<std::vector<HostShare>> mapped(const std::vector<Room>& rooms, const ShareRules& rules) {
  std::vector<int> slots;
  for (const Room& room : rooms)
    slots.push_back(std::min(room.host.slots.value_or(rules.ranks), most_of(rules)));
  PACELINE_TRY_ASSIGN(const std::vector<int> counts,
                      topology::count_by_host(rules.ranks, slots, rules.mapping));
  const bool is_known = !topology::counts_need_machines(rules.mapping);
  std::vector<HostShare> shares;
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    if (counts[i] == 0) continue;
    const int ranks = is_known ? counts[i] : std::min(slots[i], rules.ranks);
    const bool is_stated = rooms[i].host.slots.has_value();
    shares.push_back(
        {.host = rooms[i].host.name, .ranks = ranks, .slots = is_stated ? slots[i] : ranks});
  }
  return shares;
}

// What programs without hosts of their own leave to the next one.
void take_slots(const std::vector<HostShare>& shares, std::vector<HostSlots>& hosts) {
  for (const HostShare& share : shares) {
    const auto host = std::ranges::find(hosts, share.host, &HostSlots::name);
    if (host->slots) *host->slots -= std::min(share.ranks, *host->slots);
  }
}

void add_shares(const std::vector<HostShare>& shares, std::size_t program, std::size_t programs,
                std::vector<HostShare>& all) {
  for (const HostShare& share : shares) {
    auto known = std::ranges::find(all, share.host, &HostShare::host);
    if (known == all.end()) {
      all.push_back({.host = share.host, .by_program = std::vector<int>(programs, 0)});
      known = all.end() - 1;
    }
    known->by_program[program] = share.ranks;
    known->ranks += share.ranks;
    known->slots = known->ranks;
  }
}

}  // namespace

std::vector<HostSlots> merged_hosts(std::span<const HostSlots> hosts) {
  std::vector<HostSlots> merged;
  std::unordered_map<std::string, std::size_t> places;
  for (const HostSlots& host : hosts) {
    const auto [place, is_new] = places.emplace(host.name, merged.size());
    if (is_new) {
      merged.push_back(host);
      continue;
    }
    std::optional<int>& slots = merged[place->second].slots;
    if (slots && host.slots)
      slots = std::min(*slots + *host.slots, kMaxRanks);
    else
      slots.reset();
  }
  return merged;
}

ShareRules share_rules_of(const JobSpec& job) {
  const PlacementSpec& said = job.placement;
  const bool says_costs =
      !said.groups.empty() || !said.measured_file.empty() || !said.cluster_file.empty();
  return {.ranks = job.ranks(),
          .max_per_host = job.ranks_per_host,
          .mapping = said.rules,
          .considers_all = says_costs && !said.rules.is_mapping()};
}

Result<std::vector<HostShare>> share_ranks(std::span<const HostSlots> hosts,
                                           const ShareRules& rules) {
  const int most = most_of(rules);
  std::vector<Room> rooms = rooms_of(hosts);
  if (rules.mapping.may_oversubscribe) add_missing_slots(rules, rooms);
  const int left = fill_others_evenly(rooms, fill_stated(rooms, rules.ranks, most), most);
  if (left > 0) return too_many(rooms, rules.ranks, most);
  if (rules.considers_all) return considered(rooms, rules.ranks, most);
  return topology::fills_hosts(rules.mapping) ? filled(rooms, most) : mapped(rooms, rules);
}

Result<std::vector<HostShare>> share_job(const JobSpec& job, std::span<const HostSlots> hosts) {
  ShareRules rules = share_rules_of(job);
  if (!job.has_own_hosts()) return share_ranks(hosts, rules);
  rules.considers_all = false;
  std::vector<HostSlots> left = merged_hosts(hosts);
  // -N is for all programs together.
  if (const int most = rules.max_per_host; most > 0)
    for (HostSlots& host : left) host.slots = std::min(host.slots.value_or(most), most);
  std::vector<HostShare> all;
  for (std::size_t i = 0; i < job.programs.size(); ++i) {
    const ProgramSpec& program = job.programs[i];
    rules.ranks = program.ranks;
    const Result<std::vector<HostShare>> shares =
        share_ranks(program.hosts.empty() ? left : program.hosts, rules);
    if (!shares.ok()) return shares.status().with_context("program " + std::to_string(i + 1));
    if (program.hosts.empty()) take_slots(*shares, left);
    add_shares(*shares, i, job.programs.size(), all);
  }
  return all;
}

}  // namespace paceline::launcher
