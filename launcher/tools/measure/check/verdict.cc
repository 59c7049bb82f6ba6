#include "launcher/tools/measure/check/verdict.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "launcher/tools/measure/check/broken_ways.h"
#include "launcher/tools/measure/check/rate_table.h"
#include "launcher/tools/measure/text_format.h"

namespace paceline::launcher {
namespace {

using probe::CpuUse;
using probe::Flow;
using probe::Measurements;
using Direction = std::pair<int, int>;

// A flow is slow where it is this many deviations below what is expected, and by at least and at
// most these shares of it: below the first, links of the same kind differ by themselves; where
// rates lie so far apart that the second is not enough, nothing is known.
constexpr double kDeviations = 4;
constexpr double kLeastGap = 0.12;
constexpr double kMostGap = 0.22;
constexpr double kWidestSpread = 0.1;
// A host's direction is slow where so much of it is: a flow in it may look good by chance.
constexpr double kMostOfThem = 0.75;
// Of a rating so much is data, at an MTU of 1500; and a healthy link comes this near to it.
constexpr double kDataShare = 1448.0 / 1538.0;
constexpr double kNearRating = 0.85;
// A thread that is on a CPU, or ready to be, so much of the time does not wait for a link; and that
// by so much more than its peers.
constexpr double kAlwaysReady = 0.8;
constexpr double kMoreThanPeers = 0.25;
// Whose quota was used up in so many of its periods was held up by it.
constexpr double kThrottled = 0.3;
// With less of a CPU than this for a thread that never sleeps, a quota matters.
constexpr double kWholeCpu = 0.92;

std::string percent(double share) { return text("%.0f %%", 100 * share); }

double ready_share(const CpuUse& use) { return std::min(1.0, use.busy + use.waiting); }

// The end of a flow that a host has.
const CpuUse& end_of(const Flow& flow, int host) {
  return host == flow.from ? flow.sender : flow.receiver;
}

// The flows of one kind, one way or both ways at once, against what is expected of them.
class Rates {
 public:
  Rates(const Measurements& measured, bool both_ways)
      : table_(measured, both_ways),
        expected_(table_.expected()),
        spread_(table_.spread(expected_)) {
    const double gap = std::clamp(kDeviations * spread_, kLeastGap, kMostGap);
    std::vector<double> ready;
    for (const Flow* flow : table_.all()) {
      if (flow->bits_per_s < (1 - gap) * expected_) slow_.emplace(flow->from, flow->to);
      ready.push_back(std::max(ready_share(flow->sender), ready_share(flow->receiver)));
    }
    usually_ready_ = upper_median(std::move(ready));
  }

  const RateTable& table() const { return table_; }
  double expected() const { return expected_; }
  double spread() const { return spread_; }
  bool is_slow(const Flow& flow) const { return slow_.contains({flow.from, flow.to}); }
  const std::set<Direction>& slow() const { return slow_; }
  /// Of the busier end of a flow that is like most.
  double usually_ready() const { return usually_ready_; }

  /// Was it this host's CPUs that the flow waited for?
  bool waits_for_cpu(const Flow& flow, int host) const {
    const CpuUse& use = end_of(flow, host);
    const double ready = ready_share(use);
    return use.throttled >= kThrottled ||
           (ready >= kAlwaysReady && ready >= usually_ready_ + kMoreThanPeers);
  }

 private:
  const RateTable table_;
  const double expected_;
  const double spread_;
  double usually_ready_ = 0;
  std::set<Direction> slow_;
};

double median_rate(const std::vector<const Flow*>& flows) {
  std::vector<double> rates;
  for (const Flow* flow : flows) rates.push_back(flow->bits_per_s);
  return upper_median(std::move(rates));
}

class Judge {
 public:
  explicit Judge(const Measurements& measured)
      : measured_(measured), one_way_(measured, false), both_ways_(measured, true) {}

  Verdict run() {
    verdict_.expected_bits_per_s = one_way_.expected();
    verdict_.spread = one_way_.spread();
    unexplained_ = one_way_.slow();
    verdict_.blames = blame_broken_ways(measured_, one_way_.table());
    blame_cpus();
    while (blame_worst_direction()) {
    }
    blame_pairs();
    weigh_all();
    if (!verdict_.blames.empty()) verdict_.state = CheckState::kDegraded;
    return std::move(verdict_);
  }

 private:
  int hosts() const { return static_cast<int>(measured_.hosts.size()); }

  void blame(Blame blame) { verdict_.blames.push_back(std::move(blame)); }

  // What a host's CPU gave to a thread that never slept, and what flows waited for at its end.
  void blame_cpus() {
    for (int host = 0; host < hosts(); ++host) {
      const std::vector<const Flow*> slow = slow_for_cpu(one_way_, host);
      const std::vector<const Flow*> both = slow_for_cpu(both_ways_, host);
      const std::string quota = quota_evidence(host);
      // A single flow may be slow because somebody else had the CPU for a moment.
      if (quota.empty() && slow.size() < 2 && both.size() < 2) continue;
      for (const Flow* flow : slow) unexplained_.erase({flow->from, flow->to});
      Blame bound{.fault = Fault::kCpuBound, .host = host};
      bound.found_bits_per_s = median_rate(slow.empty() ? both : slow);
      bound.evidence = quota;
      if (quota.empty())
        bound.evidence = std::string("its thread was busy or waiting for a CPU ")
                             .append(percent(ready_at(slow, both, host)))
                             .append(" of the time");
      blame(std::move(bound));
    }
  }

  // Where a quota holds up a thread that never sleeps: as was seen, or, where others on the machine
  // left it less than that at the time, as the kernel says. Empty where it does not.
  std::string quota_evidence(int host) const {
    const std::optional<CpuUse> spin = spin_of(host);
    if (spin && spin->throttled >= kThrottled && spin->busy < kWholeCpu)
      return text(
          "its cgroup's quota allows a busy thread only %.2f CPUs (it was used up in %.0f %% of "
          "its periods)",
          spin->busy, 100 * spin->throttled);
    const auto at = static_cast<std::size_t>(host);
    const double quota = at < measured_.facts.size() ? measured_.facts[at].cpu_quota : 0;
    if (quota <= 0 || quota >= kWholeCpu) return "";
    return text("its cgroup's quota is %.2f CPUs, less than one thread can use", quota);
  }

  static double ready_at(const std::vector<const Flow*>& slow, const std::vector<const Flow*>& both,
                         int host) {
    std::vector<double> ready;
    for (const Flow* flow : slow.empty() ? both : slow)
      ready.push_back(ready_share(end_of(*flow, host)));
    return upper_median(std::move(ready));
  }

  static std::vector<const Flow*> slow_for_cpu(const Rates& rates, int host) {
    std::vector<const Flow*> slow;
    for (const bool leaving : {true, false})
      for (const Flow* flow : rates.table().of(host, leaving))
        if (rates.is_slow(*flow) && rates.waits_for_cpu(*flow, host)) slow.push_back(flow);
    return slow;
  }

  std::optional<CpuUse> spin_of(int host) const {
    for (const probe::Spin& spin : measured_.spins)
      if (spin.host == host) return spin.cpu;
    return std::nullopt;
  }

  // The host and direction that explains most of what nothing else does.
  bool blame_worst_direction() {
    std::size_t most = 1;
    std::optional<Blame> worst;
    for (int host = 0; host < hosts(); ++host) {
      for (const bool leaving : {true, false}) {
        const std::vector<const Flow*> slow = unexplained_of(host, leaving);
        const std::size_t measured = one_way_.table().of(host, leaving).size();
        if (slow.size() <= most ||
            static_cast<double>(slow.size()) < kMostOfThem * static_cast<double>(measured))
          continue;
        most = slow.size();
        worst = Blame{.fault = leaving ? Fault::kHostEgress : Fault::kHostIngress,
                      .host = host,
                      .found_bits_per_s = median_rate(slow),
                      .evidence = text("slow %s %zu of %zu hosts", leaving ? "to" : "from",
                                       slow.size(), measured)};
      }
    }
    if (!worst) return false;
    for (const Flow* flow : unexplained_of(worst->host, worst->fault == Fault::kHostEgress))
      unexplained_.erase({flow->from, flow->to});
    blame(std::move(*worst));
    return true;
  }

  std::vector<const Flow*> unexplained_of(int host, bool leaving) const {
    std::vector<const Flow*> slow;
    for (const Flow* flow : one_way_.table().of(host, leaving))
      if (unexplained_.contains({flow->from, flow->to})) slow.push_back(flow);
    return slow;
  }

  void blame_pairs() {
    while (!unexplained_.empty()) {
      const auto [from, to] = *unexplained_.begin();
      unexplained_.erase(unexplained_.begin());
      const bool both = unexplained_.erase({to, from}) > 0;
      Blame pair{.fault = Fault::kPair, .host = from, .other = to, .both = both};
      pair.found_bits_per_s = one_way_.table().flow(from, to)->bits_per_s;
      pair.evidence = hosts() > 2 ? "each of the two hosts has normal rates with all other hosts"
                                  : "slower than the opposite direction";
      blame(std::move(pair));
    }
  }

  // What no comparison among peers can see, or what it can not see here.
  void weigh_all() {
    if (hosts() < 2) return;
    if (one_way_.expected() <= 0) {
      verdict_.state = CheckState::kUnknown;
      verdict_.reasons.emplace_back("no flow between hosts could be measured");
      return;
    }
    weigh_rating();
    // Two flows always lie as far apart as they do.
    if (hosts() > 2 && one_way_.spread() > kWidestSpread && !others_agree()) {
      verdict_.state = CheckState::kUnknown;
      verdict_.reasons.push_back(std::string("the rates differ too much (spread ")
                                     .append(percent(one_way_.spread()))
                                     .append(") to call a host or a pair slow"));
      std::erase_if(verdict_.blames, [](const Blame& one) {
        return one.fault == Fault::kPair || one.fault == Fault::kHostEgress ||
               one.fault == Fault::kHostIngress;
      });
    }
  }

  // Where the hosts that are blamed are fewer than the others, and those are alike.
  bool others_agree() const {
    std::set<int> blamed;
    for (const Blame& one : verdict_.blames)
      if (one.fault == Fault::kHostEgress || one.fault == Fault::kHostIngress ||
          one.fault == Fault::kCpuBound)
        blamed.insert(one.host);
    if (blamed.empty() || 2 * std::ssize(blamed) >= hosts()) return false;
    return one_way_.table().spread(one_way_.expected(), blamed) <= kWidestSpread;
  }

  void weigh_rating() {
    const std::optional<double> rated = rating();
    const bool is_cpu_bound = one_way_.usually_ready() >= kAlwaysReady;
    if (!rated && hosts() == 2) {
      verdict_.state = CheckState::kUnknown;
      verdict_.reasons.emplace_back(
          "two hosts have no other hosts to compare with, and their links report no rated speed");
    }
    if (is_cpu_bound)
      verdict_.reasons.emplace_back(
          "CPU-bound, not link-bound: the threads that send or receive hardly ever wait, so the "
          "links may be faster than this");
    if (!rated || one_way_.expected() >= kNearRating * kDataShare * *rated) return;
    const std::string evidence = std::string("rated at ").append(rate_text(*rated));
    if (is_cpu_bound) {
      verdict_.state = CheckState::kUnknown;
      verdict_.reasons.push_back(
          std::string("the links are ").append(evidence).append(", which they do not reach"));
    } else {
      blame({.fault = Fault::kAllLinks,
             .found_bits_per_s = one_way_.expected(),
             .evidence = evidence});
    }
  }

  // The least of them; nothing where a link has none.
  std::optional<double> rating() const {
    if (measured_.facts.size() != measured_.hosts.size()) return std::nullopt;
    std::optional<double> least;
    for (const probe::HostFacts& facts : measured_.facts) {
      const std::optional<double> one = facts.rating_bits_per_s();
      if (!one) return std::nullopt;
      least = std::min(least.value_or(*one), *one);
    }
    return least;
  }

  const Measurements& measured_;
  const Rates one_way_;
  const Rates both_ways_;
  std::set<Direction> unexplained_;  // slow flows
  Verdict verdict_;
};

}  // namespace

std::string_view name(CheckState state) {
  constexpr std::string_view kNames[] = {"OK", "DEGRADED", "UNKNOWN"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view name(Fault fault) {
  constexpr std::string_view kNames[] = {
      "host egress", "host ingress",       "host unreachable", "stopped answering",
      "pair",        "pair broken",        "pair interrupted", "CPU-bound, not link-bound",
      "all links",   "network interrupted"};
  return kNames[static_cast<std::size_t>(fault)];
}

Verdict judge(const probe::Measurements& measured) { return Judge(measured).run(); }

std::string subject_of(const Blame& blame, const std::vector<std::string>& hosts) {
  if (blame.host < 0) return "all hosts";
  const std::string& host = hosts[static_cast<std::size_t>(blame.host)];
  if (blame.other < 0) return host;
  const bool both = blame.both || blame.fault == Fault::kPairBroken;
  return std::string(host)
      .append(both ? " <-> " : " -> ")
      .append(hosts[static_cast<std::size_t>(blame.other)]);
}

std::string rate_text(double bits_per_s) {
  const bool giga = bits_per_s >= 1e9;
  const double value = bits_per_s / (giga ? 1e9 : 1e6);
  return text("%.*f %s", value >= 100 ? 0 : value >= 10 ? 1 : 2, value, giga ? "Gbit/s" : "Mbit/s");
}

}  // namespace paceline::launcher
