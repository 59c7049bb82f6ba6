#include "topology/placement/host/gpu_ring.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ranges>
#include <set>
#include <utility>

#include "topology/path/path.h"
#include "topology/placement/host/nic_choice.h"

namespace paceline::topology {
namespace {

constexpr std::size_t kTriedWhole = 8;
// Costs that differ by less are alike: they have been added up in another order.
constexpr double kRounding = 1e-9;

// Between all GPUs, looked up once.
class Ring {
 public:
  Ring(const HostModel& host, bool crosses_hosts) : host_(host), crosses_hosts_(crosses_hosts) {
    const int gpus = static_cast<int>(host.gpus.size());
    for (int a = 0; a < gpus; ++a) {
      us_.emplace_back();
      for (int b = 0; b < gpus; ++b) us_.back().push_back(a == b ? 0 : us_per_mb(a, b));
    }
  }

  double cost(const std::vector<int>& gpus) const { return inside(gpus) + outside(gpus); }

  double us_between(int a, int b) const {
    return us_[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  }

  double inside(const std::vector<int>& gpus) const {
    const auto count = static_cast<double>(gpus.size());
    return 2 * (count - 1) / count * slowest(gpus);
  }

  double slowest(const std::vector<int>& gpus) const {
    const std::size_t count = gpus.size();
    double slowest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto from = static_cast<std::size_t>(gpus[i]);
      const auto to = static_cast<std::size_t>(gpus[(i + 1) % count]);
      slowest = std::max(slowest, us_[from][to]);
    }
    return slowest;
  }

  // The same for each order of the same GPUs.
  double outside(const std::vector<int>& gpus) const {
    if (!crosses_hosts_) return 0;
    std::vector<DataPlace> places;
    places.reserve(gpus.size());
    for (const int gpu : gpus) places.push_back({.gpu = gpu});
    return 2 / static_cast<double>(gpus.size()) * choose_nics(host_, places).us_per_mb;
  }

 private:
  double us_per_mb(int a, int b) const {
    const Path path = path_between(host_, {DeviceKind::kGpu, a}, {DeviceKind::kGpu, b});
    return 1e6 / static_cast<double>(std::max<std::uint64_t>(path.mb_per_s, 1));
  }

  const HostModel& host_;
  const bool crosses_hosts_;
  std::vector<std::vector<double>> us_;
};

// A ring of `gpus` in which no hop takes longer than `limit_us`: an extension of a path by the GPU
// that has the fewest hops left, and back where there is none.
class RingSearch {
 public:
  RingSearch(const Ring& ring, const std::vector<int>& gpus, double limit_us, int& compares_left)
      : ring_(ring), gpus_(gpus), limit_us_(limit_us), compares_left_(compares_left) {
    rest_.insert(gpus.begin(), gpus.end());
  }

  // Empty where there is none, or it was looked for long enough.
  std::vector<int> find() {
    for (const int gpu : gpus_)
      if (neighbours(gpu).size() < std::min<std::size_t>(2, gpus_.size() - 1)) return {};
    take(gpus_.front());
    return extend() ? order_ : std::vector<int>();
  }

 private:
  bool is_near(int a, int b) const { return ring_.us_between(a, b) <= limit_us_; }

  std::vector<int> neighbours(int gpu) {
    compares_left_ -= static_cast<int>(rest_.size());
    std::vector<int> near;
    for (const int other : rest_)
      if (other != gpu && is_near(gpu, other)) near.push_back(other);
    return near;
  }

  void take(int gpu) {
    order_.push_back(gpu);
    rest_.erase(gpu);
  }

  bool extend() {
    if (compares_left_ < 0) return false;
    if (rest_.empty()) return is_near(order_.back(), order_.front());
    std::vector<std::pair<std::size_t, int>> next;  // hops left, GPU
    for (const int gpu : neighbours(order_.back())) next.emplace_back(neighbours(gpu).size(), gpu);
    std::ranges::sort(next);
    for (const int gpu : next | std::views::values) {
      take(gpu);
      if (extend()) return true;
      order_.pop_back();
      rest_.insert(gpu);
    }
    return false;
  }

  const Ring& ring_;
  const std::vector<int>& gpus_;
  const double limit_us_;
  int& compares_left_;
  std::set<int> rest_;
  std::vector<int> order_;
};

// Exchanges alone do not help where several hops are as slow as the slowest: no exchange mends all.
// So each limit below the slowest hop is tried, the lowest first.
std::vector<int> faster_ring(const Ring& ring, std::vector<int> gpus) {
  constexpr int kMostCompares = 10'000'000;
  std::set<double> limits;
  for (const int a : gpus)
    for (const int b : gpus)
      if (a < b) limits.insert(ring.us_between(a, b));
  int compares_left = kMostCompares;
  for (const double limit : limits) {
    if (limit >= ring.slowest(gpus) - kRounding || compares_left < 0) break;
    std::vector<int> found = RingSearch(ring, gpus, limit, compares_left).find();
    if (!found.empty()) return found;
  }
  return gpus;
}

struct Best {
  double cost = std::numeric_limits<double>::infinity();
  std::vector<int> gpus;

  void offer(double offered, const std::vector<int>& candidate) {
    const bool is_better =
        offered < cost - kRounding || (offered < cost + kRounding && candidate < gpus);
    if (!is_better) return;
    cost = std::min(cost, offered);
    gpus = candidate;
  }
};

// A ring is the same wherever it begins: the lowest number does.
void try_orders(const Ring& ring, std::vector<int> subset, Best& best) {
  const double outside = ring.outside(subset);
  if (outside > best.cost + kRounding) return;
  do {
    best.offer(ring.inside(subset) + outside, subset);
  } while (std::next_permutation(subset.begin() + 1, subset.end()));
}

std::vector<int> try_all(const Ring& ring, std::size_t of, std::size_t count) {
  Best best;
  std::vector<bool> is_taken(of, false);
  std::fill_n(is_taken.begin(), count, true);
  do {
    std::vector<int> subset;
    for (std::size_t i = 0; i < of; ++i)
      if (is_taken[i]) subset.push_back(static_cast<int>(i));
    try_orders(ring, std::move(subset), best);
  } while (std::prev_permutation(is_taken.begin(), is_taken.end()));
  return best.gpus;
}

// From the first `count` on: two of the ring change places, or one goes for one outside.
std::vector<int> improve(const Ring& ring, std::size_t of, std::size_t count) {
  std::vector<int> all(of);
  std::iota(all.begin(), all.end(), 0);
  const auto taken = [&] {
    return std::vector<int>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  };
  double outside = ring.outside(taken());
  double cost = ring.inside(taken()) + outside;
  bool improved = true;
  while (improved) {
    improved = false;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < of; ++j) {
        std::swap(all[i], all[j]);
        const bool is_same_set = j < count;
        const double changed_outside = is_same_set ? outside : ring.outside(taken());
        const double changed = ring.inside(taken()) + changed_outside;
        if (changed < cost - kRounding) {
          cost = changed;
          outside = changed_outside;
          improved = true;
        } else {
          std::swap(all[i], all[j]);
        }
      }
    }
  }
  return taken();
}

}  // namespace

double ring_cost_us(const HostModel& host, const std::vector<int>& gpus, bool crosses_hosts) {
  return gpus.empty() ? 0 : Ring(host, crosses_hosts).cost(gpus);
}

std::vector<int> choose_gpus(const HostModel& host, int count, bool crosses_hosts) {
  const std::size_t of = host.gpus.size();
  const std::size_t wanted = std::min(static_cast<std::size_t>(std::max(count, 0)), of);
  if (wanted == 0) return {};
  const Ring ring(host, crosses_hosts);
  if (of <= kTriedWhole) return try_all(ring, of, wanted);
  return faster_ring(ring, improve(ring, of, wanted));
}

}  // namespace paceline::topology
