#include "topology/placement/search/arranger.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace paceline::topology {
namespace {

// Combinations of orders that are looked at, of hosts whose ranks do not talk alike.
constexpr int kMostCombinations = 20000;
// Of the orders of one host's GPUs, when the others have taken all steps.
constexpr int kFewSteps = 3000;
// Of more of such hosts each chooses for itself.
constexpr std::size_t kMostCombined = 16;

using Times = std::vector<PartTime>;

// One order for each of several hosts, so that all together take the least time. Hosts whose ranks
// talk alike have one order: the slowest counts, so a second one is of no use.
class OrderChoice {
 public:
  OrderChoice(const std::vector<TrafficPart>& parts, std::vector<const GpuOrders*> hosts)
      : parts_(parts), hosts_(std::move(hosts)), tried_(hosts_.size()) {}

  // By host.
  std::vector<std::size_t> choose(const Times& network) {
    chosen_.assign(hosts_.size(), 0);
    Times times = network;
    for (std::size_t host = 0; host < hosts_.size(); ++host) chosen_[host] = greedy(host, times);
    best_us_ = cost(times);
    if (hosts_.size() <= kMostCombined) combine(0, network);
    return chosen_;
  }

  double cost_us() const { return best_us_; }
  int steps() const { return steps_; }

 private:
  double cost(const Times& times) const {
    double us = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      us += parts_[i].rounds * times[i].latest_us + times[i].busiest_us;
    return us;
  }

  Times with(Times times, const GpuOrder& order) const {
    for (std::size_t i = 0; i < times.size(); ++i) {
      times[i].busiest_us = std::max(times[i].busiest_us, order.parts[i].busiest_us);
      times[i].latest_us = std::max(times[i].latest_us, order.parts[i].latest_us);
    }
    return times;
  }

  std::size_t greedy(std::size_t host, Times& times) const {
    std::size_t best = 0;
    double best_us = std::numeric_limits<double>::infinity();
    const std::vector<GpuOrder>& orders = hosts_[host]->orders;
    for (std::size_t i = 0; i < orders.size(); ++i) {
      const double us = cost(with(times, orders[i]));
      if (us >= best_us) continue;
      best_us = us;
      best = i;
    }
    times = with(std::move(times), orders[best]);
    return best;
  }

  void combine(std::size_t host, const Times& times) {
    constexpr double kBarelyLess = 1 - 1e-12;
    if (++steps_ > kMostCombinations || cost(times) >= best_us_ * kBarelyLess) return;
    if (host == hosts_.size()) {
      best_us_ = cost(times);
      chosen_ = tried_;
      return;
    }
    for (std::size_t i = 0; i < hosts_[host]->orders.size(); ++i) {
      tried_[host] = i;
      combine(host + 1, with(times, hosts_[host]->orders[i]));
    }
  }

  const std::vector<TrafficPart>& parts_;
  const std::vector<const GpuOrders*> hosts_;
  std::vector<std::size_t> tried_, chosen_;
  double best_us_ = 0;
  int steps_ = 0;
};

}  // namespace

Arranger::Arranger(HostKinds& kinds, const ServerRules& servers, const std::vector<int>& slots)
    : kinds_(kinds), servers_(servers), slots_(slots), parts_(parts_of(kinds.job())) {
  for (int host = 0; host < hosts(); ++host) {
    const int gpus = kinds.gpus(host);
    HostFloor& floor = floors_.emplace_back();
    floor.inside = kMemoryHop;
    if (gpus > 0)
      floor.inside = kinds.paths(host).best(slots_[static_cast<std::size_t>(host)] > gpus);
    for (const Direction way : {Direction::kOut, Direction::kIn})
      floor.leaving_us_per_mb[static_cast<std::size_t>(way)] = std::max(
          kinds.links().best_nic_us_per_mb(host, way), gpus > 0 ? 0 : kMemoryHop.us_per_mb);
  }
}

bool Arranger::is_alike(int a, int b) const {
  for (const Direction way : {Direction::kOut, Direction::kIn})
    if (links().host_us_per_mb(a, way) != links().host_us_per_mb(b, way)) return false;
  return kinds_.kind(a) == kinds_.kind(b) && servers_.is_alike(a, b);
}

HostLoads Arranger::loads(const std::vector<int>& host_of) const {
  HostLoads loads = no_loads();
  loads.put_all(host_of);
  return loads;
}

const GpuOrders& Arranger::orders_of(int host, const std::vector<int>& host_of,
                                     const std::vector<int>& own) {
  std::pair key(kinds_.kind(host), host_traffic(parts_, host_of, own));
  auto found = orders_.find(key);
  if (found == orders_.end()) {
    GpuOrders orders = find_gpu_orders(kinds_, host, parts_, key.second,
                                       is_tired() ? kFewSteps : kMostOrderSteps, steps_);
    found = orders_.emplace(std::move(key), std::move(orders)).first;
  }
  return found->second;
}

Arrangement Arranger::arrange(const HostLoads& loads) {
  Arrangement arrangement{.host_of = loads.host_of()};
  std::vector<std::vector<int>> own(static_cast<std::size_t>(hosts()));
  for (std::size_t rank = 0; rank < arrangement.host_of.size(); ++rank)
    own[static_cast<std::size_t>(arrangement.host_of[rank])].push_back(static_cast<int>(rank));
  std::vector<const GpuOrders*> different;
  std::vector<std::size_t> of_host(own.size());
  std::map<const GpuOrders*, std::size_t> places;
  for (std::size_t host = 0; host < own.size(); ++host) {
    if (own[host].empty()) continue;
    const GpuOrders& orders = orders_of(static_cast<int>(host), arrangement.host_of, own[host]);
    const auto [place, is_new] = places.emplace(&orders, different.size());
    if (is_new) different.push_back(&orders);
    of_host[host] = place->second;
    arrangement.is_exact = arrangement.is_exact && orders.is_all;
  }
  Times network;
  for (std::size_t i = 0; i < parts_.size(); ++i) network.push_back(loads.part(i));
  OrderChoice choice(parts_, different);
  const std::vector<std::size_t> chosen = choice.choose(network);
  steps_ += choice.steps();
  arrangement.cost_us = choice.cost_us() + servers_.cost_us(arrangement.host_of);
  arrangement.gpus.resize(own.size());
  for (std::size_t host = 0; host < own.size(); ++host)
    if (!own[host].empty())
      arrangement.gpus[host] = different[of_host[host]]->orders[chosen[of_host[host]]].gpus;
  return arrangement;
}

}  // namespace paceline::topology
