#include "topology/placement/rules/mapping_counts.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>

#include "topology/placement/rules/mapping_units.h"

namespace paceline::topology {
namespace {

std::vector<int> host_by_host(int ranks, std::span<const int> slots, int max_per_host) {
  std::vector<int> counts;
  for (const int there : slots) {
    const int room = max_per_host > 0 ? std::min(there, max_per_host) : there;
    counts.push_back(std::clamp(room, 0, ranks));
    ranks -= counts.back();
  }
  return counts;
}

// Rounds of one rank for each host that has a slot left.
std::vector<int> in_turn(int ranks, std::span<const int> slots) {
  std::vector<int> counts(slots.size(), 0);
  for (bool has_room = true; has_room && ranks > 0;) {
    has_room = false;
    for (std::size_t i = 0; i < slots.size() && ranks > 0; ++i) {
      if (counts[i] >= slots[i]) continue;
      has_room = true;
      ++counts[i];
      --ranks;
    }
  }
  return counts;
}

}  // namespace

bool fills_hosts(const MappingRules& rules) {
  const bool is_across =
      rules.map_by == Unit::kNode || (rules.spans_hosts && rules.map_by != Unit::kSlot);
  return rules.ranks_per_unit == 0 && !is_across;
}

bool counts_need_machines(const MappingRules& rules) {
  return !fills_hosts(rules) && rules.map_by != Unit::kNode;
}

Result<std::vector<int>> count_by_host(int ranks, std::span<const int> slots,
                                       const MappingRules& rules) {
  const bool goes_in_turn = !fills_hosts(rules) && rules.ranks_per_unit == 0;
  std::vector<int> counts =
      goes_in_turn ? in_turn(ranks, slots) : host_by_host(ranks, slots, rules.ranks_per_unit);
  const int placed = std::accumulate(counts.begin(), counts.end(), 0);
  if (placed < ranks && !counts_need_machines(rules)) return no_room(ranks, placed, rules);
  return counts;
}

Status no_room(int ranks, int placed, const MappingRules& rules) {
  std::string text = "the job has " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
  if (rules.ranks_per_unit > 0)
    text += ", but with " + std::to_string(rules.ranks_per_unit) + " per " +
            std::string(word_of(*rules.map_by));
  else
    text += ", but";
  return {Code::kInvalidArgument, Scope::kOperation,
          text + " the slots of its hosts have room for " + std::to_string(placed)};
}

}  // namespace paceline::topology
