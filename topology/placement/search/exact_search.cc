#include "topology/placement/search/exact_search.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "topology/placement/cost/rounding.h"

namespace paceline::topology {
namespace {

// Of more ranks there are always too many placements, but where all hosts are alike, and then what
// is known is as good.
constexpr int kMostRanks = 16;

class ExactSearch {
 public:
  ExactSearch(Arranger& arranger, const Arrangement& known)
      : arranger_(arranger),
        loads_(arranger.no_loads()),
        room_(arranger.slots()),
        best_(known),
        bound_us_(known.cost_us * (1 + kRounding)) {
    find_like();
  }

  std::optional<Arrangement> run() {
    put_next(0);
    if (puts_ > kMostPuts || arranger_.is_tired()) return {};
    return std::move(best_);
  }

 private:
  // Of each host the one before it that no rank could tell from it.
  void find_like() {
    const HostLinks& links = arranger_.links();
    std::vector<bool> is_on_a_way(room_.size());
    for (int way = 0; way < links.ways(); ++way)
      for (const int end : {links.way_at(way).from, links.way_at(way).to})
        is_on_a_way[static_cast<std::size_t>(end)] = true;
    like_.assign(room_.size(), kNone);
    for (std::size_t host = 0; host < room_.size(); ++host) {
      for (std::size_t before = host; before-- > 0 && like_[host] == kNone;) {
        const int a = static_cast<int>(before), b = static_cast<int>(host);
        const bool is_like = !is_on_a_way[host] && !is_on_a_way[before] &&
                             arranger_.is_alike(a, b) && room_[host] == room_[before];
        if (is_like) like_[host] = a;
      }
    }
  }

  bool is_empty(int host) const {
    return room_[static_cast<std::size_t>(host)] ==
           arranger_.slots()[static_cast<std::size_t>(host)];
  }

  void put_next(int rank) {
    if (loads_.cost_us() > bound_us_) return;
    if (rank == arranger_.ranks()) return look();
    for (int host = 0; host < arranger_.hosts(); ++host) {
      const int like = like_[static_cast<std::size_t>(host)];
      int& room = room_[static_cast<std::size_t>(host)];
      if (room == 0 || (like != kNone && is_empty(host) && is_empty(like))) continue;
      if (++puts_ > kMostPuts || arranger_.is_tired()) return;
      --room;
      loads_.put(rank, host);
      put_next(rank + 1);
      loads_.take(rank);
      ++room;
    }
  }

  // The first that is as cheap as what is known has the earliest hosts of all such.
  void look() {
    Arrangement found = arranger_.arrange(loads_);
    if (found.cost_us > bound_us_) return;
    bound_us_ = found.cost_us * (1 - kRounding);
    best_ = std::move(found);
  }

  Arranger& arranger_;
  HostLoads loads_;
  std::vector<int> room_;  // by host
  std::vector<int> like_;  // by host
  Arrangement best_;
  double bound_us_;
  int puts_ = 0;
};

}  // namespace

std::optional<Arrangement> find_cheapest(Arranger& arranger, const Arrangement& known) {
  if (arranger.ranks() > kMostRanks) return {};
  return ExactSearch(arranger, known).run();
}

}  // namespace paceline::topology
