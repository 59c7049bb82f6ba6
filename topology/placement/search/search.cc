#include "topology/placement/search/search.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>

#include "topology/placement/cost/rounding.h"
#include "topology/placement/search/beginnings.h"
#include "topology/placement/search/exact_search.h"
#include "topology/placement/search/local_search.h"

namespace paceline::topology {
namespace {

// How many edges local search changes, over all beginnings: about 0.2 s.
constexpr std::int64_t kEdgeChanges = 1000000;
// How many arrangements are looked at to improve each of the best of a small job.
constexpr int kRefinements = 300;
constexpr std::size_t kMostRefined = 3;
// So many of them are improved, and of small jobs all.
constexpr std::size_t kMostImproved = 3;
constexpr int kSmall = 64;

std::string improved_text(const std::string& what) {
  constexpr std::string_view kImproved = ", improved by exchanges";
  return what.ends_with(kImproved) ? what : what + std::string(kImproved);
}

// Places of the beginnings, the cheapest first.
std::vector<std::size_t> cheapest_first(const std::vector<double>& costs) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return costs[i]; });
  return order;
}

class Search {
 public:
  explicit Search(Arranger& arranger) : arranger_(arranger) {}

  Found nearby() {
    const std::vector<Beginning> all = beginnings(arranger_);
    std::vector<double> costs;
    costs.reserve(all.size());
    for (const Beginning& one : all)
      costs.push_back(arranger_.loads(one.host_of).cost_us() +
                      arranger_.servers().cost_us(one.host_of));
    const std::size_t improved =
        arranger_.ranks() <= kSmall ? all.size() : std::min(all.size(), kMostImproved);
    std::int64_t budget = kEdgeChanges;
    std::size_t left = improved;
    for (const std::size_t i : cheapest_first(costs)) {
      if (left == 0) break;
      add(all[i].what, arranger_.arrange(all[i].host_of));
      HostLoads loads = arranger_.loads(all[i].host_of);
      const auto share = budget / static_cast<std::int64_t>(left--);
      budget -= share - improve(arranger_, loads, share);
      add(improved_text(all[i].what), arranger_.arrange(loads));
    }
    add(all.front().what, arranger_.arrange(all.front().host_of));
    const Beginning dealt = round_robin(arranger_);
    add(dealt.what, arranger_.arrange(dealt.host_of));
    add_across();
    if (arranger_.ranks() <= kSmall) refine_best();
    choose();
    return std::move(found_);
  }

 private:
  // Of the innermost groups, where there are several.
  void add_across() {
    const std::vector<Dimension>& dimensions = arranger_.job().dimensions;
    const auto inner =
        std::ranges::find_if(dimensions, [](const auto& one) { return one.size > 1; });
    if (inner == dimensions.end() || inner->size == arranger_.ranks()) return;
    const Beginning one = across(arranger_, static_cast<std::size_t>(inner - dimensions.begin()));
    add(one.what, arranger_.arrange(one.host_of));
  }

  void add(std::string what, Arrangement arrangement) {
    const auto is_it = [&](const Candidate& one) {
      return one.arrangement.host_of == arrangement.host_of;
    };
    if (std::ranges::none_of(found_.others, is_it))
      found_.others.push_back({.what = std::move(what), .arrangement = std::move(arrangement)});
  }

  // From where it begins decides where it ends, so the second best has its turn, too.
  void refine_best() {
    std::vector<double> costs;
    for (const Candidate& one : found_.others) costs.push_back(one.arrangement.cost_us);
    const std::vector<std::size_t> order = cheapest_first(costs);
    for (std::size_t i = 0; i < std::min(order.size(), kMostRefined); ++i) {
      const Candidate& one = found_.others[order[i]];
      Arrangement refined = refine(arranger_, one.arrangement, kRefinements);
      add(improved_text(one.what), std::move(refined));
    }
  }

  // Of equally cheap ones that with the earliest hosts.
  void choose() {
    const Arrangement* best = &found_.others.front().arrangement;
    for (const Candidate& one : found_.others) {
      const double ratio = one.arrangement.cost_us / best->cost_us;
      const bool is_better = one.arrangement.cost_us < best->cost_us * (1 - kRounding);
      const bool is_earlier = ratio <= 1 + kRounding && one.arrangement.host_of < best->host_of;
      if (is_better || is_earlier) best = &one.arrangement;
    }
    found_.best = *best;
  }

  Arranger& arranger_;
  Found found_;
};

}  // namespace

Found search_nearby(Arranger& arranger) { return Search(arranger).nearby(); }

Found search(Arranger& arranger) {
  Found found = search_nearby(arranger);
  if (auto cheapest = find_cheapest(arranger, found.best)) {
    found.is_proven = cheapest->is_exact;
    found.best = *std::move(cheapest);
  }
  return found;
}

}  // namespace paceline::topology
