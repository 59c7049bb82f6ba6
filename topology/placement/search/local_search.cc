#include "topology/placement/search/local_search.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "topology/placement/cost/rounding.h"
#include "topology/placement/search/beginnings.h"

namespace paceline::topology {
namespace {

// What is less better than this is rounding.
// How many blocks at most are turned around at a time.
constexpr int kLongestTurn = 64;

struct Value {
  double cost_us = 0, burden_us = 0;

  bool is_below(const Value& other) const {
    if (cost_us < other.cost_us * (1 - kRounding)) return true;
    return cost_us <= other.cost_us * (1 + kRounding) &&
           burden_us < other.burden_us * (1 - kRounding);
  }
};

// In both directions, at most.
std::int64_t edges_a_rank(const Arranger& arranger) {
  std::int64_t edges = 1;
  for (const TrafficPart& part : arranger.parts())
    edges += part.traffic == Traffic::kAllToAll ? 2 * (part.size - 1) : 2;
  return edges;
}

class LocalSearch {
 public:
  LocalSearch(const Arranger& arranger, HostLoads& loads, std::int64_t budget)
      : loads_(loads),
        slots_(arranger.slots()),
        ranks_(arranger.ranks()),
        blocks_(block_sizes(arranger)),
        budget_(budget),
        edges_a_rank_(edges_a_rank(arranger)),
        on_host_(slots_.size()),
        place_(static_cast<std::size_t>(ranks_)) {
    for (int rank = 0; rank < ranks_; ++rank) {
      place_[static_cast<std::size_t>(rank)] = on(host_of(rank)).size();
      on(host_of(rank)).push_back(rank);
    }
    best_ = value();
  }

  std::int64_t run() {
    const auto is_open = [](int slots) { return slots > 0; };
    if (std::ranges::count_if(slots_, is_open) < 2) return budget_;  // there is nowhere to go
    while (budget_ > 0 && improve_once()) {
    }
    return budget_;
  }

 private:
  using Moves = std::vector<std::pair<int, int>>;  // rank, host

  Value value() const { return {loads_.cost_us(), loads_.burden_us()}; }
  int host_of(int rank) const { return loads_.host_of()[static_cast<std::size_t>(rank)]; }
  std::vector<int>& on(int host) { return on_host_[static_cast<std::size_t>(host)]; }
  int room(int host) {
    return slots_[static_cast<std::size_t>(host)] - static_cast<int>(on(host).size());
  }

  // Keeps the moves if they make it better.
  bool try_moves(const Moves& moves) {
    if (moves.empty() || budget_ <= 0) return false;
    Moves back;
    for (const auto& [rank, host] : moves) {
      back.emplace_back(rank, host_of(rank));
      loads_.move(rank, host);
    }
    budget_ -= static_cast<std::int64_t>(moves.size()) * edges_a_rank_;
    const Value changed = value();
    if (changed.is_below(best_)) {
      best_ = changed;
      for (std::size_t i = 0; i < moves.size(); ++i)
        relist(moves[i].first, back[i].second, moves[i].second);
      return true;
    }
    for (auto move = back.rbegin(); move != back.rend(); ++move)
      loads_.move(move->first, move->second);
    return false;
  }

  void relist(int rank, int from, int to) {
    std::vector<int>& others = on(from);
    const std::size_t place = place_[static_cast<std::size_t>(rank)];
    others[place] = others.back();
    place_[static_cast<std::size_t>(others[place])] = place;
    others.pop_back();
    place_[static_cast<std::size_t>(rank)] = on(to).size();
    on(to).push_back(rank);
  }

  bool improve_once() {
    for (const int hot : loads_.hot_hosts()) {
      if (try_hosts(hot)) return true;
      for (const int block : blocks_)
        if (try_blocks(hot, block)) return true;
    }
    return false;
  }

  // All ranks of two hosts change places.
  bool try_hosts(int hot) {
    const int hosts = static_cast<int>(slots_.size());
    for (int other = 0; other < hosts && budget_ > 0; ++other) {
      const auto here = static_cast<int>(on(hot).size()),
                 there = static_cast<int>(on(other).size());
      if (other == hot || here > slots_[static_cast<std::size_t>(other)] ||
          there > slots_[static_cast<std::size_t>(hot)])
        continue;
      Moves moves;
      for (const int rank : on(hot)) moves.emplace_back(rank, other);
      for (const int rank : on(other)) moves.emplace_back(rank, hot);
      if (try_moves(moves)) return true;
    }
    return false;
  }

  // The blocks that have a rank there.
  std::vector<int> blocks_on(int host, int size) {
    std::vector<int> blocks;
    for (const int rank : on(host)) blocks.push_back(rank / size);
    std::ranges::sort(blocks);
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    return blocks;
  }

  bool try_blocks(int hot, int size) {
    const int blocks = ranks_ / size;
    for (const int block : blocks_on(hot, size)) {
      if (block >= blocks) continue;
      if (try_room(block, size)) return true;
      for (int other = 0; other < blocks && budget_ > 0; ++other)
        if (other != block && (try_exchange(block, other, size) || try_turn(block, other, size)))
          return true;
    }
    return false;
  }

  bool try_room(int block, int size) {
    for (int host = 0; host < static_cast<int>(slots_.size()) && budget_ > 0; ++host) {
      if (room(host) < size) continue;
      Moves moves;
      for (int rank = block * size; rank < (block + 1) * size; ++rank)
        if (host_of(rank) != host) moves.emplace_back(rank, host);
      if (try_moves(moves)) return true;
    }
    return false;
  }

  bool try_exchange(int a, int b, int size) {
    Moves moves;
    for (int i = 0; i < size; ++i) swap_into(moves, a * size + i, b * size + i);
    return try_moves(moves);
  }

  bool try_turn(int a, int b, int size) {
    const int first = std::min(a, b), last = std::max(a, b);
    if (last - first < 2 || last - first > kLongestTurn) return false;
    Moves moves;
    for (int low = first, high = last; low < high; ++low, --high)
      for (int i = 0; i < size; ++i) swap_into(moves, low * size + i, high * size + i);
    return try_moves(moves);
  }

  void swap_into(Moves& moves, int a, int b) const {
    if (host_of(a) == host_of(b)) return;
    moves.emplace_back(a, host_of(b));
    moves.emplace_back(b, host_of(a));
  }

  HostLoads& loads_;
  const std::vector<int>& slots_;
  const int ranks_;
  const std::vector<int> blocks_;
  std::int64_t budget_;
  const std::int64_t edges_a_rank_;
  std::vector<std::vector<int>> on_host_;  // ranks by host, in no order
  std::vector<std::size_t> place_;         // of each rank in that
  Value best_;
};

class Refinement {
 public:
  Refinement(Arranger& arranger, Arrangement arrangement, int budget)
      : arranger_(arranger),
        best_(std::move(arrangement)),
        budget_(budget),
        ranks_(arranger.slots().size()) {}

  Arrangement run() {
    while (budget_ > 0 && improve_once()) {
    }
    return std::move(best_);
  }

 private:
  bool try_hosts(const std::vector<int>& host_of) {
    if (budget_-- <= 0 || arranger_.is_tired()) return false;
    Arrangement changed = arranger_.arrange(host_of);
    if (!(changed.cost_us < best_.cost_us * (1 - kRounding))) return false;
    best_ = std::move(changed);
    return true;
  }

  bool improve_once() {
    ranks_.assign(ranks_.size(), 0);
    for (const int host : best_.host_of) ++ranks_[static_cast<std::size_t>(host)];
    for (std::size_t rank = 0; rank < best_.host_of.size(); ++rank)
      if (try_rank(rank)) return true;
    return try_exchanges_of_hosts() || try_rotations();
  }

  // A ring may begin anywhere: which ranks leave their hosts, and by which NICs, changes with that.
  bool try_rotations() {
    std::vector<int> changed = best_.host_of;
    for (std::size_t i = 1; i < changed.size(); ++i) {
      std::rotate(changed.begin(), changed.begin() + 1, changed.end());
      if (try_hosts(changed)) return true;
    }
    return false;
  }

  bool try_rank(std::size_t rank) {
    std::vector<int> changed = best_.host_of;
    for (std::size_t host = 0; host < ranks_.size(); ++host) {
      changed[rank] = static_cast<int>(host);
      const bool is_move = changed[rank] != best_.host_of[rank];
      if (is_move && ranks_[host] < arranger_.slots()[host] && try_hosts(changed)) return true;
    }
    changed[rank] = best_.host_of[rank];
    for (std::size_t other = rank + 1; other < changed.size(); ++other) {
      if (changed[other] == changed[rank]) continue;
      std::swap(changed[other], changed[rank]);
      if (try_hosts(changed)) return true;
      std::swap(changed[other], changed[rank]);
    }
    return false;
  }

  bool try_exchanges_of_hosts() {
    const std::vector<int>& slots = arranger_.slots();
    for (std::size_t a = 0; a < ranks_.size(); ++a) {
      for (std::size_t b = a + 1; b < ranks_.size(); ++b) {
        if (ranks_[a] + ranks_[b] == 0 || ranks_[a] > slots[b] || ranks_[b] > slots[a]) continue;
        const int first = static_cast<int>(a), second = static_cast<int>(b);
        std::vector<int> changed = best_.host_of;
        for (int& host : changed) host = host == first ? second : host == second ? first : host;
        if (try_hosts(changed)) return true;
      }
    }
    return false;
  }

  Arranger& arranger_;
  Arrangement best_;
  int budget_;
  std::vector<int> ranks_;  // by host
};

}  // namespace

Arrangement refine(Arranger& arranger, Arrangement arrangement, int budget) {
  return Refinement(arranger, std::move(arrangement), budget).run();
}

std::int64_t improve(const Arranger& arranger, HostLoads& loads, std::int64_t budget) {
  return LocalSearch(arranger, loads, budget).run();
}

}  // namespace paceline::topology
