// What a rank has seen of the others' counters, so that it looks no more often than it must.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "collectives/backend/shm/layout.h"

namespace paceline::shm {

template <class Memory>
class Seen {
 public:
  Seen(int rank, int ranks)
      : rank_(rank), ranks_(ranks), seen_(kCounters, Row(static_cast<std::size_t>(ranks), 0)) {}

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool is_own(int rank) const { return rank == rank_; }

  /// By all others.
  bool reached(const Memory& memory, Counter which, std::uint64_t least) {
    if (by_all(which) >= least) return true;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (!is_own(rank) && !reached_by(memory, rank, which, least)) return false;
    }
    by_all(which) = least;
    return true;
  }
  bool reached_by(const Memory& memory, int rank, Counter which, std::uint64_t least) {
    if (seen(which, rank) >= least) return true;
    awaited_ = rank;
    seen(which, rank) = memory.counter(rank, which);
    return seen(which, rank) >= least;
  }

  /// What follows from something else than a look.
  void note_all(Counter which, std::uint64_t value) { by_all(which) = value; }
  void note(Counter which, int rank, std::uint64_t value) {
    seen(which, rank) = std::max(seen(which, rank), value);
  }

  /// Whom the last step waited for: one of those that hold it up.
  int awaited() const { return awaited_; }
  void await(int rank) { awaited_ = rank; }

  void append_state(std::vector<std::uint64_t>& to) const {
    for (const Row& row : seen_) to.insert(to.end(), row.begin(), row.end());
    to.insert(to.end(), by_all_.begin(), by_all_.end());
  }

 private:
  using Row = std::vector<std::uint64_t>;
  std::uint64_t& by_all(Counter which) { return by_all_[static_cast<std::size_t>(which)]; }
  std::uint64_t& seen(Counter which, int rank) {
    return seen_[static_cast<std::size_t>(which)][static_cast<std::size_t>(rank)];
  }

  int rank_;
  int ranks_;
  std::vector<Row> seen_;  // of each counter, by rank: what it was at the last look
  std::array<std::uint64_t, kCounters> by_all_{};  // what all have reached, as far as that is known
  int awaited_ = -1;
};

}  // namespace paceline::shm
