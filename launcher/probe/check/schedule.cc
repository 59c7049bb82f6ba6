#include "launcher/probe/check/schedule.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "launcher/probe/statistics.h"

namespace paceline::probe {
namespace {

// A healthy flow is hardly ever slower than this, compared with the others; a verdict asks for
// more.
constexpr double kSlow = 0.92;

Round tournament_round(int hosts, int round) {
  const int players = hosts + hosts % 2;  // with an odd number one rests: it meets the last
  const int circle = players - 1;
  Round pairs;
  const auto add = [&](int a, int b) {
    if (a < hosts && b < hosts) pairs.emplace_back(std::min(a, b), std::max(a, b));
  };
  // The one whose partner on the circle would be itself meets the one that stays.
  for (int a = 0; a < circle; ++a) {
    const int b = ((round - a) % circle + circle) % circle;
    if (a == b) add(a, circle);
    if (a < b) add(a, b);
  }
  return pairs;
}

std::set<Pair> slow_pairs(const Measurements& measured) {
  std::map<Pair, double> best;  // by direction
  for (const Flow& flow : measured.flows) {
    if (flow.both_ways) continue;
    double& known = best[{flow.from, flow.to}];
    known = std::max(known, flow.bits_per_s);
  }
  std::vector<double> rates;
  for (const auto& [direction, rate] : best) rates.push_back(rate);
  const double slow = kSlow * quantile(rates, 0.5);
  std::set<Pair> pairs;
  for (const auto& [direction, rate] : best)
    if (rate < slow) pairs.insert(std::minmax(direction.first, direction.second));
  for (const Broken& broken : measured.broken) {
    const bool came_later =
        best.contains({broken.from, broken.to}) && best.contains({broken.to, broken.from});
    if (!came_later) pairs.insert(std::minmax(broken.from, broken.to));
  }
  return pairs;
}

bool meets(const Round& round, const Pair& pair) {
  return std::any_of(round.begin(), round.end(), [&pair](const Pair& other) {
    return pair.first == other.first || pair.first == other.second || pair.second == other.first ||
           pair.second == other.second;
  });
}

}  // namespace

int doublings(int hosts) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(std::max(hosts, 1) - 1)));
}

std::vector<Round> first_rounds(int hosts) {
  if (hosts < 2) return {};
  const int all = hosts - 1 + hosts % 2;
  const int wanted = hosts <= kAllPairsUpTo ? all : std::min(all, 2 * doublings(hosts));
  std::vector<Round> rounds;
  for (int i = 0; i < wanted; ++i) rounds.push_back(tournament_round(hosts, i * all / wanted));
  return rounds;
}

std::vector<Round> rounds_again(const Measurements& measured, int most) {
  const std::set<Pair> slow = slow_pairs(measured);
  std::map<int, int> pairs_of;
  for (const auto& [a, b] : slow) ++pairs_of[a], ++pairs_of[b];
  std::vector<Pair> order(slow.begin(), slow.end());
  std::stable_sort(order.begin(), order.end(), [&](const Pair& left, const Pair& right) {
    return std::max(pairs_of[left.first], pairs_of[left.second]) <
           std::max(pairs_of[right.first], pairs_of[right.second]);
  });
  std::vector<Round> rounds;
  for (const Pair& pair : order) {
    auto free = std::find_if(rounds.begin(), rounds.end(),
                             [&pair](const Round& round) { return !meets(round, pair); });
    if (free == rounds.end()) {
      if (static_cast<int>(rounds.size()) == most) continue;
      free = rounds.insert(rounds.end(), Round());
    }
    free->push_back(pair);
  }
  return rounds;
}

}  // namespace paceline::probe
