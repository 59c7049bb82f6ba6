#include "collectives/algo/hosts.h"

#include <algorithm>

#include "collectives/algo/parts.h"

namespace paceline {
namespace {

// The elements from `part` of the blocks of these ranks, which count as one array.
std::vector<Stretch> stretches_of(const PlanRequest& request, const std::vector<int>& ranks,
                                  const Part& part) {
  std::vector<Stretch> stretches;
  std::size_t begin = 0;  // of the block
  for (const int rank : ranks) {
    const Part block = block_of(request, rank);
    const std::size_t first = std::max(part.offset, begin);
    const std::size_t end = std::min(part.offset + part.count, begin + block.count);
    if (first < end)
      stretches.push_back({rank, {.offset = block.offset + first - begin, .count = end - first}});
    begin += block.count;
  }
  return stretches;
}

}  // namespace

Hosts::Hosts(const PlanRequest& request) {
  for (int rank = 0; rank < request.ranks; ++rank) {
    const int host = request.host_of(rank);
    if (static_cast<std::size_t>(host) >= ranks_.size())
      ranks_.resize(static_cast<std::size_t>(host) + 1);
    std::vector<int>& ranks = ranks_[static_cast<std::size_t>(host)];
    place_.push_back({host, static_cast<int>(ranks.size())});
    ranks.push_back(rank);
  }
  owners_ = request.ranks;
  for (const std::vector<int>& ranks : ranks_) {
    owners_ = std::min(owners_, static_cast<int>(ranks.size()));
    most_ranks_ = std::max(most_ranks_, static_cast<int>(ranks.size()));
  }
}

Shares::Shares(const PlanRequest& request, const Hosts& hosts) : hosts_(hosts) {
  for (int home = 0; home < hosts.count(); ++home) {
    std::size_t chunk = 0;
    for (const int rank : hosts.ranks(home)) chunk += block_of(request, rank).count;
    for (int owner = 0; owner < hosts.owners(); ++owner) {
      std::vector<Stretch>& share = shares_.emplace_back();
      if (!has_root(request.kind)) {
        share = stretches_of(request, hosts.ranks(home), part_of(chunk, hosts.owners(), owner));
      } else if (home == hosts.host_of(request.root)) {
        const Part part = part_of(request.count, hosts.owners(), owner);
        if (part.count > 0) share.push_back({request.root, part});
      }
    }
  }
}

std::size_t Shares::count(int home, int owner) const {
  std::size_t count = 0;
  for (const Stretch& stretch : of(home, owner)) count += stretch.part.count;
  return count;
}

std::size_t Shares::longest() const {
  std::size_t longest = 0;
  for (int home = 0; home < hosts_.count(); ++home)
    for (int owner = 0; owner < hosts_.owners(); ++owner)
      longest = std::max(longest, count(home, owner));
  return longest;
}

std::vector<Stretch> pieces_of(const std::vector<Stretch>& share, std::size_t piece_count) {
  std::vector<Stretch> pieces;
  for (const Stretch& stretch : share)
    for (const Part& part : segments_of(stretch.part, piece_count))
      pieces.push_back({stretch.rank, part});
  return pieces;
}

std::size_t pieces_in(const std::vector<Stretch>& share, std::size_t piece_count) {
  std::size_t pieces = 0;
  for (const Stretch& stretch : share) pieces += segments_in(stretch.part.count, piece_count);
  return pieces;
}

}  // namespace paceline
