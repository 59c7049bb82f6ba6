#include "launcher/connectivity/rails.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::launcher {
namespace {

using Candidates = std::vector<HostInterface>;  // of one host, the best first
constexpr std::size_t kMostHolders = 4;

using Network = std::pair<IpAddress, int>;

Network network_of(const HostInterface& one) {
  return {one.address.network(one.prefix_bits), one.prefix_bits};
}

// Smaller is better.
std::tuple<InterfaceKind, std::int64_t, bool> worth(const HostInterface& one) {
  return {one.kind, -one.speed_mbits, one.address.is_v6()};
}

// Addresses that several machines have, with their hosts. They lead nowhere.
using SharedAddresses = std::map<IpAddress, std::vector<std::string>>;

SharedAddresses shared_addresses(std::span<const HostSurvey> hosts) {
  std::map<IpAddress, std::set<std::string>> machines;
  SharedAddresses shared;
  for (const HostSurvey& host : hosts) {
    for (const HostInterface& one : host.interfaces) {
      machines[one.address].insert(host.machine_or_host());
      shared[one.address].push_back(host.host);
    }
  }
  std::erase_if(shared, [&](const auto& one) { return machines[one.first].size() < 2; });
  return shared;
}

bool are_one_machine(std::span<const HostSurvey> hosts) {
  return std::ranges::all_of(hosts, [&](const HostSurvey& host) {
    return host.machine_or_host() == hosts.front().machine_or_host();
  });
}

// Loopback leads to another host only if both are the same machine.
Candidates candidates_of(const HostSurvey& host, const NetChoice& choice,
                         const SharedAddresses& shared, bool is_one_machine) {
  Candidates found;
  for (const bool loopback : {false, true}) {
    if (loopback && !is_one_machine) break;
    for (const HostInterface& one : host.interfaces) {
      const bool is_loopback = one.kind == InterfaceKind::kLoopback;
      if (one.is_up && is_loopback == loopback && choice.takes(one.name, one.address) &&
          !shared.contains(one.address))
        found.push_back(one);
    }
    if (!found.empty()) break;
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return worth(a) < worth(b); });
  // What is beyond the bound is the worst; but the way to the head is known to be good.
  const auto known = std::find_if(found.begin(), found.end(), [&](const HostInterface& one) {
    return one.address.to_string() == host.reached_by;
  });
  if (known != found.end() && known - found.begin() >= std::ptrdiff_t{kMaxCandidates})
    std::iter_swap(known, found.begin() + (kMaxCandidates - 1));
  found.resize(std::min(found.size(), kMaxCandidates));
  return found;
}

// Why an interface is not used: " (down; the address is also on b)".
std::string set_aside(const HostSurvey& host, const HostInterface& one,
                      const SharedAddresses& shared) {
  std::vector<std::string> reasons;
  if (!one.is_up) reasons.emplace_back("down");
  if (one.kind == InterfaceKind::kBridge) reasons.emplace_back("bridge");
  const auto having = shared.find(one.address);
  if (having != shared.end() && one.kind != InterfaceKind::kLoopback) {
    std::vector<std::string> others = having->second;
    std::erase(others, host.host);
    reasons.push_back("the address is also on " + list_text(others, kMostHolders));
  }
  return reasons.empty() ? "" : " (" + joined(reasons, "; ") + ")";
}

std::string nothing_usable(const HostSurvey& host, const NetChoice& choice,
                           const SharedAddresses& shared) {
  std::string there;
  bool has_match = false;
  for (const HostInterface& one : host.interfaces) {
    there.append(there.empty() ? "" : ", ").append(describe(one));
    there.append(set_aside(host, one, shared));
    has_match |= one.kind != InterfaceKind::kLoopback && choice.takes(one.name, one.address);
  }
  std::string why = "no address can be reached by other hosts";
  if (choice.is_stated())
    why = has_match ? "no interface that " + choice.text() + " selects reaches other hosts"
                    : choice.text() + " matches none of its interfaces";
  return "host " + host.host + ": " + why + "; it has " + (there.empty() ? "none" : there);
}

// Makes rails of candidates, each rail once.
class RailMaker {
 public:
  RailMaker(std::span<const HostSurvey> hosts, std::vector<Candidates> candidates)
      : hosts_(hosts), candidates_(std::move(candidates)) {}

  std::vector<Rail> make() {
    for (const HostInterface& one : candidates_.front()) add_network(network_of(one));
    add_way_to_head();
    std::stable_sort(rails_.begin(), rails_.end(),
                     [this](const Rail& a, const Rail& b) { return rank(a) < rank(b); });
    std::size_t most = 0;
    for (const Candidates& one : candidates_) most = std::max(most, one.size());
    for (std::size_t i = 0; i < most; ++i) add_places(i);
    if (rails_.size() > kMaxRails) rails_.resize(kMaxRails);
    return std::move(rails_);
  }

 private:
  void add(Rail rail) {
    const bool whole = rail.ends.size() == candidates_.size();
    if (whole && std::find(rails_.begin(), rails_.end(), rail) == rails_.end())
      rails_.push_back(std::move(rail));
  }
  template <class Chosen>
  void add_where(Chosen chosen) {
    Rail rail;
    for (std::size_t host = 0; host < candidates_.size(); ++host) {
      const Candidates& all = candidates_[host];
      const auto found = std::find_if(all.begin(), all.end(),
                                      [&](const HostInterface& one) { return chosen(host, one); });
      if (found != all.end()) rail.ends.push_back(*found);
    }
    add(std::move(rail));
  }
  void add_network(const Network& network) {
    add_where([&](std::size_t, const HostInterface& one) { return network_of(one) == network; });
  }
  void add_way_to_head() {
    add_where([this](std::size_t host, const HostInterface& one) {
      return one.address.to_string() == hosts_[host].reached_by;
    });
  }
  // Each host's i-th best, so that every candidate is on some rail.
  void add_places(std::size_t i) {
    Rail rail;
    for (const Candidates& all : candidates_) rail.ends.push_back(all[std::min(i, all.size() - 1)]);
    add(std::move(rail));
  }
  std::tuple<InterfaceKind, std::int64_t, bool, bool> rank(const Rail& rail) const {
    InterfaceKind kind{};
    std::int64_t slowest = INT64_MIN;
    bool v6 = false;
    bool leads_to_head = true;
    for (std::size_t host = 0; host < rail.ends.size(); ++host) {
      const HostInterface& end = rail.ends[host];
      kind = std::max(kind, end.kind);
      slowest = std::max(slowest, -end.speed_mbits);
      v6 |= end.address.is_v6();
      leads_to_head &= end.address.to_string() == hosts_[host].reached_by;
    }
    return {kind, slowest, !leads_to_head, v6};
  }

  const std::span<const HostSurvey> hosts_;
  const std::vector<Candidates> candidates_;
  std::vector<Rail> rails_;
};

}  // namespace

std::string describe(const Rail& rail) {
  const HostInterface& first = rail.ends.front();
  const bool one_network = std::all_of(rail.ends.begin(), rail.ends.end(), [&](const auto& end) {
    return network_of(end) == network_of(first);
  });
  const bool one_name = std::all_of(rail.ends.begin(), rail.ends.end(),
                                    [&](const auto& end) { return end.name == first.name; });
  if (!one_name && !one_network) return "different networks";
  std::string text = one_name ? first.name : "";
  if (one_network)
    text.append(one_name ? " " : "")
        .append(network_of(first).first.to_string())
        .append("/")
        .append(std::to_string(first.prefix_bits));
  return text;
}

Result<std::vector<Rail>> rails_of(std::span<const HostSurvey> hosts, const NetChoice& choice) {
  const SharedAddresses shared = shared_addresses(hosts);
  const bool is_one_machine = are_one_machine(hosts);
  std::vector<Candidates> candidates;
  std::string missing;
  for (const HostSurvey& host : hosts) {
    candidates.push_back(candidates_of(host, choice, shared, is_one_machine));
    if (!candidates.back().empty()) continue;
    missing.append(missing.empty() ? "" : "\n").append(nothing_usable(host, choice, shared));
  }
  if (!missing.empty()) return Status(Code::kInvalidArgument, Scope::kGroup, missing);
  return RailMaker(hosts, std::move(candidates)).make();
}

}  // namespace paceline::launcher
