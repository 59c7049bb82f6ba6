#include "launcher/tools/measure/probe/check/schedule.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "launcher/tools/measure/probe/loop/statistics.h"

namespace paceline::probe {
namespace {

// A healthy flow is hardly ever slower than this, compared with the others; a verdict asks for
// more.
constexpr double kSlow = 0.92;
// Compared with the better ones: of two flows with the other.
constexpr double kGood = 0.75;
// What else goes on does not slow a flow three times by the same; a link does.
constexpr std::size_t kTimes = 3;
constexpr double kAlike = 0.985;
// Where so many of a host's flows are slow, where there are several, some stand for all of them.
constexpr double kMostOfThem = 0.75;
constexpr int kSeveral = 4;
constexpr int kSome = 2;

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

// What was measured from one host to another, the best first.
using Rates = std::vector<double>;
// A direction: who sends, and who gets.
using Rating = std::map<Pair, Rates>;

Rating rates_of(const Measurements& measured) {
  Rating rates;
  for (const Flow& flow : measured.flows)
    if (!flow.both_ways) rates[{flow.from, flow.to}].push_back(flow.bits_per_s);
  for (auto& [direction, of_it] : rates) std::sort(of_it.rbegin(), of_it.rend());
  return rates;
}

// A host's flows, one way.
struct Share {
  int slow = 0;
  int all = 0;
  int came_again = 0;   // of the slow ones, as slow as before
  int did_better = 0;   // when they were measured again
  int asked_again = 0;  // now

  bool is_most() const { return all >= kSeveral && slow >= kMostOfThem * all; }
  // They bear each other out.
  bool is_sure() const { return is_most() && came_again > did_better; }
  // Some of them will tell.
  bool is_asked() const { return is_most() && did_better == 0 && asked_again >= kSome; }
};

class SlowFlows {
 public:
  explicit SlowFlows(const Measurements& measured) : rates_(rates_of(measured)) {
    std::vector<double> best;
    for (const auto& [direction, rates] : rates_) best.push_back(rates.front());
    slow_ = kSlow * quantile(best, kGood);
    for (const auto& [direction, rates] : rates_)
      for (Share* share : {&sent_[direction.first], &got_[direction.second]}) {
        const bool is_slow = rates.front() < slow_;
        ++share->all;
        share->slow += is_slow;
        share->came_again += is_slow && came_again(rates);
        share->did_better += !is_slow && rates.size() > 1 && rates.back() < slow_;
      }
  }

  bool came(int from, int to) const { return rates_.contains({from, to}); }

  std::set<Pair> doubtful_pairs() {
    std::set<Pair> pairs;
    for (const auto& [direction, rates] : rates_) {
      if (rates.front() >= slow_ || came_again(rates)) continue;
      Share& sent = sent_[direction.first];
      Share& got = got_[direction.second];
      if (sent.is_sure() || got.is_sure() || sent.is_asked() || got.is_asked()) continue;
      ++sent.asked_again, ++got.asked_again;
      pairs.insert(std::minmax(direction.first, direction.second));
    }
    return pairs;
  }

 private:
  static bool came_again(const Rates& rates) {
    return rates.size() >= kTimes && rates[kTimes - 1] > kAlike * rates[0];
  }

  const Rating rates_;
  double slow_ = 0;
  std::map<int, Share> sent_;
  std::map<int, Share> got_;
};

std::set<Pair> doubtful_pairs(const Measurements& measured) {
  SlowFlows flows(measured);
  std::set<Pair> pairs = flows.doubtful_pairs();
  for (const Broken& broken : measured.broken)
    if (!flows.came(broken.from, broken.to) || !flows.came(broken.to, broken.from))
      pairs.insert(std::minmax(broken.from, broken.to));
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
  const std::set<Pair> slow = doubtful_pairs(measured);
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
