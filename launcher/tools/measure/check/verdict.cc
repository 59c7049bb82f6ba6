#include "launcher/tools/measure/check/verdict.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "launcher/tools/measure/check/baseline.h"
#include "launcher/tools/measure/check/broken_ways.h"
#include "launcher/tools/measure/check/cpu_bound.h"
#include "launcher/tools/measure/check/judged_rates.h"
#include "launcher/tools/measure/check/packet_loss.h"
#include "launcher/tools/measure/check/rate_table.h"
#include "launcher/tools/measure/text_format.h"

namespace paceline::launcher {
namespace {

using probe::Flow;
using probe::Measurements;

// Where rates lie so far apart, no link can be called slow by comparison.
constexpr double kWidestSpread = 0.1;
// Of a rating so much is data, at an MTU of 1500; and a healthy link comes this near to it.
constexpr double kDataShare = 1448.0 / 1538.0;
constexpr double kNearRating = 0.85;

std::string percent(double share) { return text("%.0f %%", 100 * share); }

class Judge {
 public:
  Judge(const Measurements& measured, const Measurements* baseline)
      : measured_(measured),
        baseline_(baseline),
        one_way_(measured, false),
        both_ways_(measured, true) {}

  Verdict run() {
    verdict_.expected_bits_per_s = one_way_.expected();
    verdict_.spread = one_way_.spread();
    unexplained_ = one_way_.slow();
    blame_unfit_hosts();
    PacketLoss loss = blame_packet_loss(measured_);
    take_over(blame_broken_ways(measured_, one_way_.table(), loss.blames));
    compare_with_baseline();
    leave_out_unfit_hosts();
    CpuBoundHosts bound = blame_cpus(measured_, one_way_, both_ways_);
    take_over(std::move(bound.blames), bound.explained);
    take_over(std::move(loss.blames), loss.explained);
    leave_out_cpu_bound();
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

  void blame_unfit_hosts() {
    for (const probe::UnfitHost& one : measured_.unfit) {
      if (one.or_host.empty())
        blame({.fault = Fault::kUnfit, .name = one.name, .evidence = one.why});
      else
        blame({.fault = Fault::kPairBroken,
               .name = one.or_host + " <-> " + one.name,
               .evidence = one.name + " was left out; " + one.why});
    }
  }

  void leave_out_unfit_hosts() {
    std::erase_if(unexplained_, [this](const Direction& one) {
      return is_unfit(one.first) || is_unfit(one.second);
    });
  }

  bool is_unfit(int host) const {
    return host >= 0 && std::ranges::any_of(measured_.unfit, [&](const probe::UnfitHost& one) {
             return one.name == measured_.hosts[static_cast<std::size_t>(host)];
           });
  }

  void take_over(std::vector<Blame> blames, const std::vector<Direction>& explained = {}) {
    for (Blame& one : blames)
      if (!is_unfit(one.host) && !is_unfit(one.other)) blame(std::move(one));
    for (const Direction& one : explained) unexplained_.erase(one);
  }

  void compare_with_baseline() {
    if (baseline_ == nullptr) return;
    comparison_ = compare(one_way_.table(), measured_, *baseline_);
    if (comparison_.before.empty()) {
      verdict_.state = CheckState::kUnknown;
      verdict_.reasons.emplace_back("the baseline has no link between these hosts");
      return;
    }
    if (!comparison_.all_are_slow()) {
      // A link's own past says more than its peers.
      for (const auto& [direction, before] : comparison_.before) {
        if (comparison_.slow.contains(direction))
          unexplained_.insert(direction);
        else
          unexplained_.erase(direction);
      }
      if (!comparison_.slow.empty())
        verdict_.reasons.push_back(text("%zu of %zu links are slower than in the baseline",
                                        comparison_.slow.size(), comparison_.before.size()));
      return;
    }
    if (one_way_.is_cpu_bound()) {
      verdict_.state = CheckState::kUnknown;
      verdict_.reasons.push_back(
          text("the baseline has %s (median of %zu links), but CPUs bound the flows",
               rate_text(comparison_.median_before).c_str(), comparison_.before.size()));
      return;
    }
    blame({.fault = Fault::kAllLinks,
           .found_bits_per_s = comparison_.median_now,
           .evidence =
               text("the baseline has %s (median of %zu links)",
                    rate_text(comparison_.median_before).c_str(), comparison_.before.size())});
  }

  // Such flows are slow, but not because of a link.
  void leave_out_cpu_bound() {
    for (const Direction& one : unexplained_)
      if (is_bound_by_cpus(*one_way_.table().flow(one.first, one.second))) left_out_.insert(one);
    for (const Direction& one : left_out_) unexplained_.erase(one);
    const std::size_t count = left_out_.size();
    if (count == 0) return;
    verdict_.state = CheckState::kUnknown;
    verdict_.reasons.push_back(
        text("%zu slow flow%s no evidence about links, because a thread at its end was on a CPU "
             "or waited for one nearly all the time",
             count, count == 1 ? " is" : "s are"));
  }

  // The host and direction that explains most of what nothing else does.
  bool blame_worst_direction() {
    std::size_t most = 1;
    std::optional<Blame> worst;
    for (int host = 0; host < hosts(); ++host) {
      for (const bool leaving : {true, false}) {
        const std::vector<const Flow*> slow = flows_in(unexplained_, host, leaving);
        const std::size_t all = one_way_.table().of(host, leaving).size();
        const std::size_t silent = flows_in(left_out_, host, leaving).size();
        const std::size_t measured = all - silent;
        if (slow.size() <= most || 2 * slow.size() < all ||
            static_cast<double>(slow.size()) < kMostOfThem * static_cast<double>(measured))
          continue;
        most = slow.size();
        worst = Blame{.fault = leaving ? Fault::kHostEgress : Fault::kHostIngress,
                      .host = host,
                      .found_bits_per_s = median_rate(slow),
                      .evidence = text("slow %s %zu of %zu hosts", leaving ? "to" : "from",
                                       slow.size(), measured) +
                                  (silent > 0 ? text(" (%zu more say nothing)", silent) : "")};
      }
    }
    if (!worst) return false;
    const bool leaving = worst->fault == Fault::kHostEgress;
    for (const Flow* flow : flows_in(unexplained_, worst->host, leaving))
      unexplained_.erase({flow->from, flow->to});
    blame(std::move(*worst));
    return true;
  }

  std::vector<const Flow*> flows_in(const std::set<Direction>& some, int host, bool leaving) const {
    std::vector<const Flow*> flows;
    for (const Flow* flow : one_way_.table().of(host, leaving))
      if (some.contains({flow->from, flow->to})) flows.push_back(flow);
    return flows;
  }

  void blame_pairs() {
    while (!unexplained_.empty()) {
      const auto [from, to] = *unexplained_.begin();
      unexplained_.erase(unexplained_.begin());
      const bool both = unexplained_.erase({to, from}) > 0;
      Blame pair{.fault = Fault::kPair, .host = from, .other = to, .both = both};
      pair.found_bits_per_s = one_way_.table().flow(from, to)->bits_per_s;
      pair.evidence = pair_evidence({from, to});
      blame(std::move(pair));
    }
  }

  std::string pair_evidence(const Direction& direction) const {
    if (!one_way_.slow().contains(direction))
      return "the baseline has " + rate_text(comparison_.before.at(direction));
    if (hosts() <= 2) return "slower than the opposite direction";
    return left_out_.empty() ? "each of the two hosts has normal rates with all other hosts"
                             : "not most flows of either host are slow";
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
    if (hosts() > 2 && one_way_.spread() > kWidestSpread && !others_agree() && !has_baseline()) {
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

  // It has all links, so nothing depends on a comparison with peers.
  bool has_baseline() const {
    return !comparison_.before.empty() && comparison_.before.size() == comparison_.measured;
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
    const bool is_cpu_bound = one_way_.is_cpu_bound();
    if (!rated && hosts() == 2 && !has_baseline()) {
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
  const Measurements* const baseline_;  // null: none
  const JudgedRates one_way_;
  const JudgedRates both_ways_;
  Comparison comparison_;
  std::set<Direction> unexplained_;  // slow flows
  std::set<Direction> left_out_;     // slow flows that say nothing about links
  Verdict verdict_;
};

}  // namespace

std::string_view name(CheckState state) {
  constexpr std::string_view kNames[] = {"OK", "DEGRADED", "UNKNOWN"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view name(Fault fault) {
  constexpr std::string_view kNames[] = {
      "host egress", "host ingress",        "host unreachable", "stopped answering",
      "pair",        "pair broken",         "pair interrupted", "CPU-bound, not link-bound",
      "all links",   "network interrupted", "packet loss",      "cannot run jobs"};
  return kNames[static_cast<std::size_t>(fault)];
}

Verdict judge(const Measurements& measured, const Measurements* baseline) {
  return Judge(measured, baseline).run();
}

std::string subject_of(const Blame& blame, const std::vector<std::string>& hosts) {
  if (!blame.name.empty()) return blame.name;
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
