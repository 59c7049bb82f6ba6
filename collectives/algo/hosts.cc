#include "collectives/algo/hosts.h"

#include <algorithm>
#include <numeric>

#include "collectives/algo/blocks.h"

namespace paceline {
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

Shares::Shares(const PlanRequest& request) : hosts_(request) {
  shares_.resize(hosts_.shares());
  if (has_root(request.kind)) {
    divide(hosts_.host_of(request.root), {{request.root, {0, request.count}}});
    return;
  }
  const Blocks blocks = blocks_of(request, input(0));
  for (int home = 0; home < hosts_.count(); ++home) {
    std::vector<Stretch> chunk;
    for (const int rank : hosts_.ranks(home)) chunk.push_back({rank, blocks.part(rank)});
    divide(home, chunk);
  }
}

// The stretches of a chunk count as one array, which is divided between the owners.
void Shares::divide(int home, const std::vector<Stretch>& chunk) {
  std::size_t length = 0;
  for (const Stretch& stretch : chunk) length += stretch.part.count;
  int owner = 0;
  std::size_t left = part_of(length, hosts_.owners(), owner).count;  // of the owner's share
  for (const auto& [rank, part] : chunk)
    for (std::size_t done = 0; done < part.count;) {
      while (left == 0) left = part_of(length, hosts_.owners(), ++owner).count;
      const std::size_t taken = std::min(left, part.count - done);
      shares_[hosts_.share_at(home, owner)].push_back(
          {rank, {.offset = part.offset + done, .count = taken}});
      done += taken;
      left -= taken;
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

std::size_t Shares::count_between_hosts() const {
  std::vector<std::size_t> chunks(static_cast<std::size_t>(hosts_.count()), 0);
  for (std::size_t home = 0; home < chunks.size(); ++home)
    for (int owner = 0; owner < hosts_.owners(); ++owner)
      chunks[home] += count(static_cast<int>(home), owner);
  return std::accumulate(chunks.begin(), chunks.end(), std::size_t{0}) -
         *std::ranges::min_element(chunks);
}

std::vector<Stretch> pieces_of(const std::vector<Stretch>& share, std::size_t piece_count) {
  std::vector<Stretch> pieces;
  for (const Stretch& stretch : share)
    for (const Part& part : segments_of(stretch.part, piece_count))
      pieces.push_back({stretch.rank, part});
  return pieces;
}

ShareSends::ShareSends(const Shares& shares, std::size_t piece_count)
    : hosts_(shares.hosts()),
      shares_(hosts_.shares()),
      of_owners_(static_cast<std::size_t>(hosts_.owners())),
      by_rank_(static_cast<std::size_t>(hosts_.ranks())) {
  for (int home = 0; home < hosts_.count(); ++home)
    for (int owner = 0; owner < hosts_.owners(); ++owner) {
      for (const Stretch& stretch : shares.of(home, owner)) {
        const Sends sends = sends_of(stretch.part.count, piece_count);
        const bool is_kept = stretch.rank == hosts_.owner(home, owner);
        Share& share = shares_[hosts_.share_at(home, owner)];
        (is_kept ? share.kept : share.foreign) += sends;
        if (!is_kept) by_rank_[static_cast<std::size_t>(stretch.rank)] += sends;
      }
      of_owners_[static_cast<std::size_t>(owner)] += of(home, owner);
      all_ += of(home, owner);
    }
}

}  // namespace paceline
