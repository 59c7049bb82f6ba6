#include "launcher/tools/measure/check/broken_ways.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "comm/base/text.h"
#include "launcher/tools/measure/text_format.h"

namespace paceline::launcher {
namespace {

using Pair = std::pair<int, int>;

// An all-reduce that takes longer than this, and more than this multiple of the mean, waits for
// something other than the links. The mean is over few operations, including this one.
constexpr double kHungUs = 2e6;
constexpr double kTimesTheMean = 2;

struct BrokenPair {
  std::string why;         // of the first failure
  bool works_now = false;  // it was measured in both directions, before or after the failure
};

class BrokenWays {
 public:
  BrokenWays(const probe::Measurements& measured, const RateTable& rates,
             std::span<const Blame> losses)
      : measured_(measured), rates_(rates), is_lossy_(!losses.empty()) {
    for (const probe::Broken& broken : measured.broken) {
      const auto [a, b] = std::minmax(broken.from, broken.to);
      const bool works_now = rates.flow(a, b) != nullptr && rates.flow(b, a) != nullptr;
      if (works_now && broken.is_silence && loses_packets({a, b}, losses)) continue;
      left_.emplace(Pair(a, b), BrokenPair{.why = broken.why, .works_now = works_now});
    }
  }

  std::vector<Blame> run() {
    blame_hosts_that_did_not_run();
    blame_unreachable_hosts();
    while (blame_host_that_was_away()) {
    }
    for (const auto& [pair, broken] : left_)
      blames_.push_back({.fault = broken.works_now ? Fault::kPairInterrupted : Fault::kPairBroken,
                         .host = pair.first,
                         .other = pair.second,
                         .evidence = broken.why});
    blame_network_for_reductions();
    return std::move(blames_);
  }

 private:
  static bool loses_packets(const Pair& pair, std::span<const Blame> losses) {
    return std::ranges::any_of(losses, [&pair](const Blame& loss) {
      return is_of(pair, loss.host) && (loss.other < 0 || is_of(pair, loss.other));
    });
  }

  static bool is_of(const Pair& pair, int host) {
    return pair.first == host || pair.second == host;
  }

  // The other hosts of the host's broken links that are not explained yet.
  std::vector<int> peers_of(int host) const {
    std::vector<int> peers;
    for (const auto& [pair, broken] : left_)
      if (is_of(pair, host)) peers.push_back(pair.first == host ? pair.second : pair.first);
    return peers;
  }

  void explain(const std::set<int>& hosts) {
    std::erase_if(left_, [&hosts](const auto& one) {
      return hosts.contains(one.first.first) || hosts.contains(one.first.second);
    });
  }

  void blame_hosts_that_did_not_run() {
    std::map<int, double> stalled;
    for (const probe::Stall& stall : measured_.stalls)
      stalled[stall.host] = std::max(stalled[stall.host], stall.seconds);
    for (const auto& [host, seconds] : stalled) {
      blames_.push_back({.fault = Fault::kStoppedAnswering,
                         .host = host,
                         .evidence = text("its processes did not run for %.1f s", seconds)});
      explain({host});
    }
  }

  void blame_unreachable_hosts() {
    std::set<int> unreachable;
    for (int host = 0; host < rates_.hosts(); ++host) {
      const std::size_t count = peers_of(host).size();
      if (count < 2 || !rates_.of(host, true).empty()) continue;
      unreachable.insert(host);
      blames_.push_back(
          {.fault = Fault::kHostUnreachable,
           .host = host,
           .evidence =
               text("none of the %zu hosts that tried could measure the path to it", count)});
    }
    explain(unreachable);
  }

  // Blames the host with the most unexplained broken links, or the network if several hosts have
  // that number.
  bool blame_host_that_was_away() {
    std::vector<int> away;
    std::size_t most = 2;
    for (int host = 0; host < rates_.hosts(); ++host) {
      const bool any_works = std::ranges::any_of(
          left_, [&](const auto& one) { return is_of(one.first, host) && one.second.works_now; });
      const std::size_t count = peers_of(host).size();
      if (!any_works || count < most) continue;
      if (count > most) away.clear();
      away.push_back(host);
      most = count;
    }
    if (away.empty()) return false;
    if (away.size() > 1) {
      blame_network();
      return false;
    }
    blames_.push_back({.fault = Fault::kStoppedAnswering,
                       .host = away.front(),
                       .evidence = evidence_of(away.front())});
    explain({away.front()});
    return true;
  }

  void blame_network() {
    std::vector<std::string> ways;
    std::string why;
    for (const auto& [pair, broken] : left_) {
      if (!broken.works_now) continue;
      ways.push_back(name(pair.first) + " <-> " + name(pair.second));
      if (why.empty()) why = broken.why;
    }
    blames_.push_back(
        {.fault = Fault::kNetwork,
         .evidence = text("%zu paths that have no host in common broke off (", ways.size()) +
                     joined(ways, ", ") + "): " + why});
    std::erase_if(left_, [](const auto& one) { return one.second.works_now; });
  }

  void blame_network_for_reductions() {
    if (!blames_.empty() || is_lossy_) return;
    for (const probe::Reduction& one : measured_.reductions) {
      if (one.max_us < kHungUs || one.max_us < kTimesTheMean * one.time_us) continue;
      blames_.push_back({.fault = Fault::kNetwork,
                         .evidence = text("an all-reduce of %d hosts hung for %.1f s while all "
                                          "hosts ran",
                                          one.hosts, one.max_us / 1e6)});
      return;
    }
  }

  const std::string& name(int host) const {
    return measured_.hosts[static_cast<std::size_t>(host)];
  }

  std::string evidence_of(int host) const {
    std::vector<std::string> names;
    for (const int peer : peers_of(host)) names.push_back(name(peer));
    const auto first =
        std::ranges::find_if(left_, [host](const auto& one) { return is_of(one.first, host); });
    return "measurements with " + joined(names, ", ") + " failed: " + first->second.why;
  }

  const probe::Measurements& measured_;
  const RateTable& rates_;
  const bool is_lossy_;
  std::map<Pair, BrokenPair> left_;  // links that are not explained yet
  std::vector<Blame> blames_;
};

}  // namespace

std::vector<Blame> blame_broken_ways(const probe::Measurements& measured, const RateTable& rates,
                                     std::span<const Blame> losses) {
  return BrokenWays(measured, rates, losses).run();
}

}  // namespace paceline::launcher
