#include "topology/placement/search/gpu_orders.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "topology/placement/cost/rounding.h"
#include "topology/placement/host/gpu_ring.h"

namespace paceline::topology {
namespace {

// What an exchange takes, in steps.
constexpr int kStepsOfExchange = 50;
// Of more ranks on a host not all orders are tried: a step for each would go too deep.
constexpr int kDeepest = 64;

using Times = std::vector<PartTime>;

bool is_no_worse(const Times& a, const Times& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool is_worse = a[i].busiest_us > b[i].busiest_us * (1 + kRounding) ||
                          a[i].latest_us > b[i].latest_us * (1 + kRounding);
    if (is_worse) return false;
  }
  return true;
}

void offer(PartTime& time, double busy_us, double late_us) {
  time.busiest_us = std::max(time.busiest_us, busy_us);
  time.latest_us = std::max(time.latest_us, late_us);
}

class OrderSearch {
 public:
  OrderSearch(HostKinds& kinds, int host, const std::vector<TrafficPart>& parts,
              const HostTraffic& traffic, int most_steps)
      : kinds_(kinds),
        host_(host),
        parts_(parts),
        traffic_(traffic),
        paths_(kinds.paths(host)),
        gpus_(kinds.gpus(host)),
        most_steps_(most_steps),
        uses_(static_cast<std::size_t>(gpus_)) {}

  GpuOrders find() {
    if (gpus_ == 0) {
      found_.orders.push_back({.gpus = {}, .parts = without_gpus()});
      return std::move(found_);
    }
    if (traffic_.ranks <= kDeepest) try_next(floor());
    found_.is_all = traffic_.ranks <= kDeepest && steps_ <= most_steps_;
    if (!found_.is_all) improve(first_order());
    return std::move(found_);
  }

  std::int64_t steps() const { return steps_; }

 private:
  // What leaves the host is read and written there as well.
  PartTime in_memory(std::size_t part) const {
    PartTime time;
    const double edge_us = parts_[part].mb * kMemoryHop.us_per_mb;
    if (!traffic_.parts[part].edges.empty())
      time = {.busiest_us = edge_us, .latest_us = kMemoryHop.latency_us};
    for (const Direction way : {Direction::kOut, Direction::kIn})
      for (const int edges : crossing(part, way))
        time.busiest_us = std::max(time.busiest_us, edges * edge_us);
    return time;
  }

  Times without_gpus() {
    Times times(parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) times[i] = in_memory(i);
    // Whether the host has CPUs at all is asked where its ranks get seats.
    const auto seats = kinds_.seats(host_, {}, traffic_.ranks, true);
    std::vector<int> nics(static_cast<std::size_t>(traffic_.ranks), kNone);
    if (seats.ok()) std::ranges::transform(*seats, nics.begin(), &Seat::nic);
    add_nics(nics, {}, times);
    return times;
  }

  // Whatever order it is: no NIC is faster than the fastest, nor all than all together.
  Times floor() const {
    Times times(parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      for (const Direction way : {Direction::kOut, Direction::kIn}) {
        const std::vector<int>& edges = crossing(i, way);
        const double sum = std::accumulate(edges.begin(), edges.end(), 0.0);
        const double most = edges.empty() ? 0 : *std::ranges::max_element(edges);
        offer(times[i], most * parts_[i].mb * kinds_.links().best_nic_us_per_mb(host_, way), 0);
        offer(times[i], sum * parts_[i].mb * kinds_.links().all_nics_us_per_mb(host_, way), 0);
      }
    }
    return times;
  }

  const std::vector<int>& crossing(std::size_t part, Direction way) const {
    const HostTraffic::Part& edges = traffic_.parts[part];
    return way == Direction::kOut ? edges.out : edges.in;
  }

  bool has_room(int gpu) const {
    const int least = traffic_.ranks / gpus_, more = traffic_.ranks % gpus_;
    const int used = uses_[static_cast<std::size_t>(gpu)];
    return used < least || (used == least && full_ < more);
  }

  // The next rank's GPU, in all ways that are not known to lead to nothing better.
  void try_next(const Times& so_far) {
    if (++steps_ > most_steps_) return;
    for (const GpuOrder& known : found_.orders)
      if (is_no_worse(known.parts, so_far)) return;
    if (static_cast<int>(order_.size()) == traffic_.ranks) return keep(order_, so_far);
    for (int gpu = 0; gpu < gpus_; ++gpu) {
      if (!has_room(gpu)) continue;
      int& used = uses_[static_cast<std::size_t>(gpu)];
      const int filled = ++used > traffic_.ranks / gpus_ ? 1 : 0;
      full_ += filled;
      order_.push_back(gpu);
      Times times = so_far;
      add_last(times);
      try_next(times);
      order_.pop_back();
      full_ -= filled;
      --used;
    }
  }

  void add_last(Times& times) {
    const int last = static_cast<int>(order_.size()) - 1;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto& edges = traffic_.parts[i].edges;
      auto edge = std::ranges::lower_bound(edges, last, {}, &std::pair<int, int>::second);
      for (; edge != edges.end() && edge->second == last; ++edge) add_edge(order_, i, *edge, times);
    }
  }

  void add_edge(const std::vector<int>& order, std::size_t part, std::pair<int, int> ends,
                Times& times) {
    const Hop hop = paths_.between_gpus(order[static_cast<std::size_t>(ends.first)],
                                        order[static_cast<std::size_t>(ends.second)]);
    offer(times[part], parts_[part].mb * hop.us_per_mb, hop.latency_us);
  }

  // A whole order, where no other is better.
  void keep(const std::vector<int>& order, Times times) {
    add_nics(nics_of(order), order, times);
    for (const GpuOrder& known : found_.orders)
      if (is_no_worse(known.parts, times)) return;
    std::erase_if(found_.orders,
                  [&](const GpuOrder& known) { return is_no_worse(times, known.parts); });
    found_.orders.push_back({.gpus = order, .parts = std::move(times)});
  }

  std::vector<int> nics_of(const std::vector<int>& order) {
    std::vector<std::size_t> ranks(order.size());
    std::iota(ranks.begin(), ranks.end(), std::size_t{0});
    std::ranges::stable_sort(ranks, {}, [&](std::size_t rank) { return order[rank]; });
    std::vector<int> sorted(order);
    std::ranges::sort(sorted);
    const std::vector<int>& of_sorted = kinds_.nics_of_gpus(host_, sorted);
    std::vector<int> nics(order.size(), kNone);
    for (std::size_t i = 0; i < ranks.size(); ++i) nics[ranks[i]] = of_sorted[i];
    return nics;
  }

  void add_nics(const std::vector<int>& nics, const std::vector<int>& order, Times& times) {
    const std::size_t count = paths_.host().nics.size();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      for (const Direction way : {Direction::kOut, Direction::kIn}) {
        std::vector<double> mb(count);
        for (std::size_t rank = 0; rank < nics.size(); ++rank) {
          if (nics[rank] == kNone) continue;
          const double sent = crossing(i, way)[rank] * parts_[i].mb;
          mb[static_cast<std::size_t>(nics[rank])] += sent;
          if (!order.empty() && sent > 0)
            offer(times[i], sent * paths_.us_to_nic(order[rank], nics[rank]), 0);
        }
        for (std::size_t nic = 0; nic < count; ++nic)
          if (mb[nic] > 0)
            offer(times[i],
                  mb[nic] * kinds_.links().nic_us_per_mb(host_, static_cast<int>(nic), way), 0);
      }
    }
  }

  double cost(const std::vector<int>& order, Times& times) {
    times.assign(parts_.size(), {});
    double cost = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      for (const auto& ends : traffic_.parts[i].edges) add_edge(order, i, ends, times);
    Times all = times;
    add_nics(nics_of(order), order, all);
    for (std::size_t i = 0; i < parts_.size(); ++i)
      cost += parts_[i].rounds * all[i].latest_us + all[i].busiest_us;
    return cost;
  }

  // GPUs in order, or the fastest ring of them where that is cheaper: exchanges alone may not find
  // the ring.
  std::vector<int> first_order() {
    std::vector<int> in_order = gpus_in_order(gpus_, traffic_.ranks);
    if (traffic_.ranks > gpus_ || gpus_ > kDeepest) return in_order;
    std::vector<int> ring = choose_gpus(paths_.host(), traffic_.ranks, false);
    Times times;
    return cost(ring, times) < cost(in_order, times) * (1 - kRounding) ? ring : in_order;
  }

  // Two ranks change GPUs, or one takes a GPU that nobody has.
  void improve(std::vector<int> order) {
    Times times;
    double best = cost(order, times);
    keep(order, times);
    const int most = most_steps_ / kStepsOfExchange;
    int tried = 0;
    for (bool improved = true; improved && tried < most;) {
      improved = false;
      for (std::size_t i = 0; i < order.size() && tried < most; ++i) {
        for (std::size_t j = i + 1; j < order.size() && tried < most; ++j, ++tried) {
          if (order[i] == order[j]) continue;
          std::swap(order[i], order[j]);
          improved |= accept_or([&] { std::swap(order[i], order[j]); }, order, best);
        }
        for (int gpu = 0; gpu < gpus_ && traffic_.ranks < gpus_; ++gpu) {
          if (std::ranges::find(order, gpu) != order.end()) continue;
          ++tried;
          const int before = std::exchange(order[i], gpu);
          improved |= accept_or([&] { order[i] = before; }, order, best);
        }
      }
    }
  }

  template <class Undo>
  bool accept_or(Undo undo, const std::vector<int>& order, double& best) {
    steps_ += kStepsOfExchange;
    Times times;
    const double changed = cost(order, times);
    if (changed >= best * (1 - kRounding)) return undo(), false;
    best = changed;
    keep(order, std::move(times));
    return true;
  }

  HostKinds& kinds_;
  const int host_;
  const std::vector<TrafficPart>& parts_;
  const HostTraffic& traffic_;
  MachinePaths& paths_;
  const int gpus_;
  const int most_steps_;
  GpuOrders found_;
  std::vector<int> order_;  // of the ranks so far
  std::vector<int> uses_;   // by GPU
  int full_ = 0;            // GPUs that have one rank more than the others
  int steps_ = 0;
};

}  // namespace

std::vector<int> gpus_in_order(int gpus, int ranks) {
  std::vector<int> order;
  for (int rank = 0; rank < ranks && gpus > 0; ++rank)
    order.push_back(ranks > gpus ? static_cast<int>(std::int64_t{rank} * gpus / ranks) : rank);
  return order;
}

GpuOrders find_gpu_orders(HostKinds& kinds, int host, const std::vector<TrafficPart>& parts,
                          const HostTraffic& traffic, int most_steps, std::int64_t& steps) {
  OrderSearch search(kinds, host, parts, traffic, most_steps);
  GpuOrders orders = search.find();
  steps += search.steps();
  return orders;
}

}  // namespace paceline::topology
