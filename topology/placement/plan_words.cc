#include "topology/placement/plan_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "comm/base/text.h"
#include "topology/placement/host/nic_choice.h"
#include "topology/placement/links/host_links.h"
#include "topology/placement/search/gpu_orders.h"

namespace paceline::topology {
namespace {

constexpr std::size_t kMostNamed = 4;

std::string number_text(double value, int decimals) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, decimals);
  return {text.data(), end.ptr};
}

class Words {
 public:
  Words(const Cluster& cluster, const JobShape& job, const std::vector<int>& slots,
        const Found& found, const Plan& plan)
      : cluster_(cluster),
        job_(job),
        slots_(slots),
        found_(found),
        plan_(plan),
        links_(cluster),
        ranks_(cluster.hosts.size()) {
    for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
      const int host = plan.ranks[rank].host;
      if (ranks_[static_cast<std::size_t>(host)].empty()) used_.push_back(host);
      ranks_[static_cast<std::size_t>(host)].push_back(rank);
    }
  }

  std::vector<std::string> all() {
    which_hosts();
    order_of_hosts();
    for (std::size_t i = 0; i < job_.dimensions.size(); ++i) groups(i);
    orders_of_gpus();
    nics();
    assumed_rates();
    servers();
    how_sure();
    return std::move(sentences_);
  }

 private:
  void say(std::string sentence) { sentences_.push_back(std::move(sentence)); }

  std::string names(const std::vector<int>& hosts) const {
    std::vector<std::string> words;
    words.reserve(hosts.size());
    for (const int host : hosts)
      words.push_back(cluster_.hosts[static_cast<std::size_t>(host)].name);
    return list_text(words, kMostNamed);
  }

  double mb_per_s(int host) const {
    return 1e6 / std::max(links_.host_us_per_mb(host, Direction::kOut),
                          links_.host_us_per_mb(host, Direction::kIn));
  }

  // By what the hosts without ranks are slower than the slowest with ranks, or that they are not.
  void which_hosts() {
    std::vector<int> spare;
    for (std::size_t host = 0; host < ranks_.size(); ++host)
      if (ranks_[host].empty() && slots_[host] > 0) spare.push_back(static_cast<int>(host));
    if (used_.size() == 1 && spare.empty()) return;
    const std::string ranks = count_text(plan_.ranks.size(), "rank");
    if (used_.size() == 1)
      return say("All " + ranks + " are on " + names(used_) +
                 "; there is no traffic between hosts.");
    std::string text = ranks + " are on " + count_text(used_.size(), "host") + ", " + names(used_);
    if (spare.empty()) return say(text + ".");
    const double slowest =
        mb_per_s(*std::ranges::min_element(used_, {}, [&](int host) { return mb_per_s(host); }));
    const double fastest =
        mb_per_s(*std::ranges::max_element(spare, {}, [&](int host) { return mb_per_s(host); }));
    text += "; " + names(spare) + (spare.size() == 1 ? " has" : " have") + " none";
    text += fastest < slowest ? ", because the max there is " + number_text(fastest, 0) +
                                    " MB/s in each direction, and the used hosts have at least " +
                                    number_text(slowest, 0)
                              : ", because more hosts would not be faster";
    say(text + ".");
  }

  void order_of_hosts() {
    if (std::ranges::is_sorted(used_)) return;
    const auto named = std::ranges::find(
        found_.others, "hosts in the order in which they were named", &Candidate::what);
    std::string text = "Hosts are used in the order " + names(used_) +
                       ", not in the order in which they were named";
    if (named != found_.others.end() &&
        named->arrangement.cost_us > found_.best.cost_us * (1 + 1e-6))
      text += "; in that order a step would take " + time_text(named->arrangement.cost_us) +
              " instead of " + time_text(found_.best.cost_us);
    say(text + ".");
  }

  void groups(std::size_t dimension) {
    const Dimension& one = job_.dimensions[dimension];
    if (one.size < 2 || used_.size() < 2) return;
    std::size_t stride = 1, inside = 0;
    for (std::size_t i = 0; i < dimension; ++i)
      stride *= static_cast<std::size_t>(job_.dimensions[i].size);
    const std::size_t groups = plan_.ranks.size() / static_cast<std::size_t>(one.size);
    for (std::size_t rank = 0; rank < plan_.ranks.size(); ++rank) {
      if (rank / stride % static_cast<std::size_t>(one.size) != 0) continue;
      bool is_inside = true;
      for (std::size_t i = 1; i < static_cast<std::size_t>(one.size); ++i)
        is_inside &= plan_.ranks[rank + i * stride].host == plan_.ranks[rank].host;
      inside += is_inside ? 1 : 0;
    }
    const std::string of = std::to_string(one.size) + " ranks";
    if (inside == groups) return say(one.name + ": each group of " + of + " is within one host.");
    if (inside == 0) return say(one.name + ": the groups of " + of + " are spread over hosts.");
    say(one.name + ": " + std::to_string(inside) + " of " + std::to_string(groups) + " groups of " +
        of + " are within one host.");
  }

  // Hosts with the same order are told together.
  void orders_of_gpus() {
    std::map<std::vector<int>, std::vector<int>> hosts;
    for (const int host : used_) {
      const std::vector<int> order = gpus_on(host);
      const auto gpus = static_cast<int>(machine_of(cluster_, host).gpus.size());
      if (!order.empty() && order != gpus_in_order(gpus, static_cast<int>(order.size())))
        hosts[order].push_back(host);
    }
    std::size_t told = 0;
    for (const auto& [order, having] : hosts) {
      if (++told > kMostNamed) return;
      std::vector<std::string> words;
      for (const int gpu : order) words.push_back(std::to_string(gpu));
      say("On " + names(having) + " ranks use GPUs " + list_text(words, 16) +
          " in this order, so that ranks that send the most have the fastest links and NICs.");
    }
  }

  std::vector<int> gpus_on(int host) const {
    std::vector<int> order;
    for (const std::size_t rank : ranks_[static_cast<std::size_t>(host)])
      if (const int gpu = plan_.ranks[rank].seat.gpu; gpu != kNone) order.push_back(gpu);
    return order;
  }

  void nics() {
    if (used_.size() < 2) return;
    std::map<std::pair<std::size_t, std::size_t>, std::vector<int>> hosts;
    for (const int host : used_) {
      std::vector<int> nics;
      for (const std::size_t rank : ranks_[static_cast<std::size_t>(host)])
        if (const int nic = plan_.ranks[rank].seat.nic; nic != kNone) nics.push_back(nic);
      const std::size_t ranks = nics.size();
      std::ranges::sort(nics);
      nics.erase(std::unique(nics.begin(), nics.end()), nics.end());
      const std::size_t there = usable_nics(machine_of(cluster_, host)).size();
      if (ranks > 0 && there > 1) hosts[{ranks, nics.size()}].push_back(host);
    }
    std::size_t told = 0;
    for (const auto& [counts, having] : hosts) {
      if (++told > kMostNamed) return;
      std::string text = "On " + names(having) + " ";
      if (counts.first == counts.second) {
        text += counts.first == 1 ? "the rank uses the nearest NIC."
                                  : "each rank has its own NIC, the nearest free one.";
      } else {
        text += count_text(counts.first, "rank") + " share " + count_text(counts.second, "NIC") +
                ", with balanced load.";
      }
      say(std::move(text));
    }
  }

  void assumed_rates() {
    if (used_.size() < 2) return;
    std::vector<int> hosts;
    std::ranges::copy_if(used_, std::back_inserter(hosts),
                         [&](int host) { return links_.is_rate_assumed(host); });
    if (!hosts.empty())
      say("No source states the rate of NICs of " + names(hosts) +
          "; 10 Gbit/s is assumed for each, so the cost is only an estimate.");
  }

  void servers() {
    if (plan_.servers.empty()) return;
    double beside = 0, spare = 0;
    std::size_t on_spare = 0;
    for (const PlacedServer& server : plan_.servers) {
      const bool is_spare = ranks_[static_cast<std::size_t>(server.place.host)].empty();
      (is_spare ? spare : beside) += server.share;
      on_spare += is_spare ? 1 : 0;
    }
    const std::size_t on_ranks = plan_.servers.size() - on_spare;
    std::string text = "Servers: ";
    if (on_spare > 0)
      text += std::to_string(on_spare) + " on hosts without ranks hold " +
              number_text(100 * spare, 1) + " % of the parameters";
    if (on_spare > 0 && on_ranks > 0) text += ", ";
    if (on_ranks > 0)
      text +=
          std::to_string(on_ranks) + " beside ranks hold " + number_text(100 * beside, 1) + " %";
    say(text + ". The links of all hosts are busy for about the same time.");
  }

  void how_sure() {
    if (plan_.ranks.size() < 2) return;
    constexpr std::string_view kAll =
        "No other placement of the ranks is cheaper; all were compared.";
    constexpr std::string_view kSome =
        "There are too many placements to compare all. No exchange of hosts or ranks that was "
        "tried is cheaper.";
    sentences_.emplace_back(found_.is_proven ? kAll : kSome);
  }

  const Cluster& cluster_;
  const JobShape& job_;
  const std::vector<int>& slots_;
  const Found& found_;
  const Plan& plan_;
  HostLinks links_;
  std::vector<std::vector<std::size_t>> ranks_;  // by host
  std::vector<int> used_;                        // hosts, by their first rank
  std::vector<std::string> sentences_;
};

}  // namespace

std::vector<std::string> reasons_for(const Cluster& cluster, const JobShape& job,
                                     const std::vector<int>& slots, const Found& found,
                                     const Plan& plan) {
  return Words(cluster, job, slots, found, plan).all();
}

}  // namespace paceline::topology
