#include "topology/placement/rules/mapping_order.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace paceline::topology {
namespace {

// The ranks of one unit, as far as they have no number. A rank whose place has several units waits
// in several queues.
struct Queue {
  int host = 0;
  std::vector<int> ranks;  // of MappedHost::ranks, ascending
  std::size_t next = 0;
};

std::vector<int> all_of(const MappedHost& host) {
  std::vector<int> ranks(host.ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
  return ranks;
}

// For each unit of the host those who are anywhere in it.
std::vector<Queue> queues_of(const MappedHost& host, int number, Unit by) {
  if (by == Unit::kNode || by == Unit::kSlot) return {{.host = number, .ranks = all_of(host)}};
  const std::vector<CpuSet> units = host.units.of(by);
  const HostUnits::Owners owners = host.units.owners(units);
  std::vector<std::vector<int>> units_at;
  for (const CpuSet& place : host.places) units_at.push_back(host.units.touched(owners, place));
  std::vector<Queue> queues(units.size(), {.host = number});
  for (std::size_t rank = 0; rank < host.ranks.size(); ++rank)
    for (const int unit : units_at[static_cast<std::size_t>(host.ranks[rank])])
      queues[static_cast<std::size_t>(unit)].ranks.push_back(static_cast<int>(rank));
  return queues;
}

class Numbering {
 public:
  explicit Numbering(const std::vector<MappedHost>& hosts) {
    for (const MappedHost& host : hosts) has_number_.emplace_back(host.ranks.size(), false);
  }

  // One of each queue, and again, until all are empty.
  void cycle(std::vector<Queue> queues) {
    while (!queues.empty()) {
      std::vector<Queue> left;
      for (Queue& queue : queues)
        if (take(queue)) left.push_back(std::move(queue));
      queues = std::move(left);
    }
  }

  void fill(std::vector<Queue> queues) {
    for (Queue& queue : queues)
      while (take(queue)) continue;
  }

  std::vector<MappedRank> finish() {
    for (std::size_t host = 0; host < has_number_.size(); ++host)
      for (std::size_t rank = 0; rank < has_number_[host].size(); ++rank)
        if (!has_number_[host][rank])
          ranks_.push_back({static_cast<int>(host), static_cast<int>(rank)});
    return std::move(ranks_);
  }

 private:
  // Numbers the next one; false where there is none.
  bool take(Queue& queue) {
    std::vector<bool>& has_number = has_number_[static_cast<std::size_t>(queue.host)];
    while (queue.next < queue.ranks.size()) {
      const int rank = queue.ranks[queue.next++];
      if (has_number[static_cast<std::size_t>(rank)]) continue;
      has_number[static_cast<std::size_t>(rank)] = true;
      ranks_.push_back({queue.host, rank});
      return true;
    }
    return false;
  }

  std::vector<std::vector<bool>> has_number_;  // by host and rank
  std::vector<MappedRank> ranks_;
};

}  // namespace

std::vector<MappedRank> number_ranks(const std::vector<MappedHost>& hosts, Unit by,
                                     RankOrder order) {
  // A host is one slot after the other, and the nodes of a job are one cycle.
  if (by == Unit::kSlot) order = RankOrder::kFill;
  if (by == Unit::kNode) order = RankOrder::kSpan;
  Numbering numbering(hosts);
  std::vector<Queue> of_all;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    std::vector<Queue> queues = queues_of(hosts[i], static_cast<int>(i), by);
    if (order == RankOrder::kCycle)
      numbering.cycle(std::move(queues));
    else if (order == RankOrder::kFill)
      numbering.fill(std::move(queues));
    else
      std::ranges::move(queues, std::back_inserter(of_all));
  }
  numbering.cycle(std::move(of_all));
  return numbering.finish();
}

}  // namespace paceline::topology
