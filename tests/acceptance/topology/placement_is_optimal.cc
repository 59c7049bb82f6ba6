// Of all placements of a small job none costs less than the one that place() takes.
//
//   placement_is_optimal [--quick] [--seed N]
//
// Clusters of 1 to 4 hosts are drawn by lot, with GPUs and NICs, slots, measured ways, and jobs of
// up to 8 ranks in groups of several kinds. Each way to put the ranks on hosts and GPUs is tried
// and costed by cost_parts() alone, without the search that place() makes; the costs have to be
// equal. Alternatives that a plan names may not cost less than it does.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "comm/base/text.h"
#include "tests/unit/topology/all_placements.h"

namespace paceline::topology {
namespace {

constexpr double kMostPlacements = 70000;  // of a case: 8 ranks on 4 hosts, and some more
constexpr double kEqual = 1e-9;

struct Compared {
  int cases = 0;
  std::int64_t placements = 0;
};

// False, with a line that says what is wrong, where something costs less than the plan.
bool holds(std::uint64_t seed, const PlacementCase& one, Compared& compared) {
  const auto plan = place(one.cluster, one.job, one.slots);
  const std::string name = "seed " + std::to_string(seed);
  if (!plan.ok()) {
    std::printf("FAILED: %s: %s\n", name.c_str(), plan.status().text().c_str());
    return false;
  }
  const AllPlacements all(one.cluster, one.job, one.slots);
  ++compared.cases;
  compared.placements += all.count();
  const double cheapest = all.cheapest_us();
  bool is_best = std::abs(plan->cost_us - cheapest) <= kEqual * cheapest;
  for (const Alternative& other : plan->alternatives)
    is_best = is_best && other.cost_us >= plan->cost_us;
  if (!is_best)
    std::printf("FAILED: %s: the plan costs %.6f us, the cheapest of all %.6f us\n", name.c_str(),
                plan->cost_us, cheapest);
  return is_best;
}

int compare(std::uint64_t first, Duration patience) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, patience);
  Compared compared;
  for (std::uint64_t seed = first; !deadline.passed(clock.now()); ++seed) {
    const std::optional<PlacementCase> one = placement_case(seed);
    if (!one || one->placements > kMostPlacements) continue;
    if (!holds(seed, *one, compared)) return 1;
  }
  std::printf("on %d small clusters, with %lld placements in all, none costs less than the plan\n",
              compared.cases, static_cast<long long>(compared.placements));
  return 0;
}

}  // namespace
}  // namespace paceline::topology

int main(int argc, char** argv) {
  std::chrono::seconds patience{120};
  std::uint64_t seed = 1000000;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--quick") {
      patience = std::chrono::seconds(10);
    } else if (words[i] == "--seed" && i + 1 < words.size()) {
      seed = paceline::parse_number<std::uint64_t>(words[++i]).value_or(seed);
    } else {
      std::fputs("usage: placement_is_optimal [--quick] [--seed N]\n", stderr);
      return 2;
    }
  }
  std::printf("seeds from %llu (repeat with --seed)\n", static_cast<unsigned long long>(seed));
  return paceline::topology::compare(seed, patience);
}
