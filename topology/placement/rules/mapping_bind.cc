#include "topology/placement/rules/mapping_bind.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "comm/base/try.h"

namespace paceline::topology {
namespace {

class Binder {
 public:
  Binder(const HostUnits& units, const BindRules& rules)
      : rules_(rules),
        targets_(units.of(rules.bind_to)),
        owners_(units.owners(targets_)),
        bound_(targets_.size()) {
    for (const CpuSet& target : targets_) room_.push_back(units.count(rules.counted, target));
  }

  const HostUnits::Owners& owners() const { return owners_; }

  // Nothing where there is no room.
  std::optional<CpuSet> bind(const std::vector<int>& candidates) {
    auto at = static_cast<std::size_t>(*std::ranges::min_element(
        candidates, {}, [&](int target) { return bound_[static_cast<std::size_t>(target)]; }));
    CpuSet cpus;
    for (int has = 0; has < rules_.each; ++at) {
      if (at == targets_.size() && !rules_.may_overload) return std::nullopt;
      if (at == targets_.size()) at = 0;
      if (bound_[at] >= room_[at] && !rules_.may_overload) return std::nullopt;
      ++bound_[at];
      cpus.add(targets_[at]);
      has += room_[at];
    }
    return cpus;
  }

  // The place itself; else the next one with room behind it, else before it.
  int with_room(int place) const {
    const auto has_room = [&](int target) {
      return bound_[static_cast<std::size_t>(target)] < room_[static_cast<std::size_t>(target)];
    };
    const int count = static_cast<int>(targets_.size());
    for (int behind = place; behind < count; ++behind)
      if (has_room(behind)) return behind;
    for (int before = place - 1; before >= 0; --before)
      if (has_room(before)) return before;
    return place;
  }

 private:
  const BindRules rules_;
  const std::vector<CpuSet> targets_;
  const HostUnits::Owners owners_;
  std::vector<int> room_, bound_;
};

// What is too small for its ranks: where they are, or the larger unit that they are bound to.
CpuSet full_place(const HostUnits& units, Unit bind_to, const CpuSet& place) {
  for (const CpuSet& unit : units.of(bind_to))
    if (unit.has_all(place)) return unit;
  return place;
}

Status contradiction(const MappingRules& rules, Unit counted) {
  const std::string number = std::to_string(rules.cpus_per_rank) + " CPUs per rank";
  if (rules.bind_to && *rules.bind_to != counted && *rules.bind_to != Unit::kNode)
    return {Code::kInvalidArgument, Scope::kOperation,
            "--bind-to " + std::string(word_of(*rules.bind_to)) + " and " + number +
                " cannot be combined; bind to core or hwthread"};
  const bool is_too_small =
      rules.ranks_per_unit == 0 &&
      (rules.map_by == Unit::kHwthread || (rules.map_by == Unit::kCore && counted == Unit::kCore));
  if (is_too_small && rules.cpus_per_rank > 1)
    return {Code::kInvalidArgument, Scope::kOperation,
            "--map-by " + std::string(word_of(*rules.map_by)) + " is too small for " + number +
                "; map by numa, package or slot"};
  return {};
}

}  // namespace

Result<BindRules> bind_rules_of(const MappingRules& rules) {
  const bool maps_threads = rules.map_by == Unit::kHwthread && rules.ranks_per_unit == 0;
  const bool has_threads = maps_threads || rules.bind_to == Unit::kHwthread;
  const Unit counted = has_threads ? Unit::kHwthread : Unit::kCore;
  if (rules.cpus_per_rank > 0) PACELINE_TRY(contradiction(rules, counted));
  return BindRules{.bind_to = rules.bind_to.value_or(counted),
                   .counted = counted,
                   .each = std::max(rules.cpus_per_rank, 1),
                   .may_overload = rules.may_overload};
}

std::string counted_text(int count, Unit counted) {
  const std::string word = counted == Unit::kCore ? "core" : "hardware thread";
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

std::string text_of(const BindRules& rules) {
  if (rules.bind_to >= Unit::kNode) return "not bound";
  if (rules.each > 1) return "bound to " + counted_text(rules.each, rules.counted);
  return "bound to " + std::string(word_of(rules.bind_to));
}

Status too_few(const HostUnits& units, const BindRules& rules, std::size_t ranks,
               const CpuSet& full) {
  std::string text = std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
  if (rules.each > 1) text += " with " + counted_text(rules.each, rules.counted) + " each";
  const int there = units.count(rules.counted, full);
  text += " cannot be bound to " + units.text(Unit::kCore, full) + ", with only ";
  text += counted_text(there, rules.counted) + "; use fewer ranks, or --bind-to ";
  text += std::string(word_of(rules.bind_to)) + ":overload-allowed";
  return {Code::kExhausted, Scope::kOperation, std::move(text)};
}

Status in_no_unit(const HostUnits& units, Unit unit, const CpuSet& cpus) {
  if (cpus.is_empty()) return {Code::kUnavailable, Scope::kOperation, "no usable CPU is known"};
  return {Code::kUnavailable, Scope::kOperation,
          units.text(Unit::kCore, cpus) + (cpus.count() == 1 ? " is" : " are") +
              " not in a known " + std::string(word_of(unit))};
}

std::vector<bool> which_share(const std::vector<CpuSet>& ranks) {
  CpuSet once, twice;
  for (const CpuSet& rank : ranks) {
    twice.add(rank & once);
    once.add(rank);
  }
  std::vector<bool> share;
  share.reserve(ranks.size());
  for (const CpuSet& rank : ranks) share.push_back(twice.has_any(rank));
  return share;
}

Result<std::vector<CpuSet>> bind_at_places(const HostUnits& units, const BindRules& rules,
                                           const std::vector<CpuSet>& places,
                                           const std::vector<int>& ranks, bool places_are_units) {
  Binder binder(units, rules);
  std::vector<std::vector<int>> candidates;
  candidates.reserve(places.size());
  for (const CpuSet& place : places) candidates.push_back(units.touched(binder.owners(), place));
  std::vector<CpuSet> bound;
  for (const int rank : ranks) {
    const auto at = static_cast<std::size_t>(rank);
    if (candidates[at].empty()) return in_no_unit(units, rules.bind_to, places[at]);
    std::optional<CpuSet> cpus =
        places_are_units ? binder.bind({binder.with_room(rank)}) : binder.bind(candidates[at]);
    if (!cpus) {
      const CpuSet full =
          places_are_units ? units.cpus() : full_place(units, rules.bind_to, places[at]);
      const auto count = std::ranges::count_if(
          ranks, [&](int other) { return places[static_cast<std::size_t>(other)].has_any(full); });
      return too_few(units, rules, static_cast<std::size_t>(count), full);
    }
    bound.push_back(*std::move(cpus));
  }
  return bound;
}

}  // namespace paceline::topology
