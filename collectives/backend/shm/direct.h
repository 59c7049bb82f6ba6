// How a long operation goes on once its ranks have met, where the arrays that they read of each
// other, and write, lie in buffers that all of them reach (comm/memory_domain.h): each rank makes
// its part straight out of the others' memory, and puts it where it belongs, piece by piece. Where
// results are alike a part can be for all: then it is read from memory once, not by each rank.
//
// Nobody touches memory whose owner has got it back. An owner that gives up says so, and has its
// memory back once nobody is touching it:
//
//   who makes a piece      kTouching = operation + 1   fence    has anybody kRevoked?  then nothing
//   who gives up           kRevoked = 1                fence    who is kTouching?      wait for it
//
// One of the two sees the other (Dekker, in Dijkstra, "Cooperating Sequential Processes", 1965).
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/backend/shm/form.h"
#include "collectives/backend/shm/layout.h"
#include "collectives/backend/shm/seen.h"

namespace paceline::shm {

/// Behind it this rank may touch others' arrays, until it is kTouching no more. False: somebody has
/// given up, and so will this rank, whose operation fails.
template <class Memory>
bool begin_to_touch(Memory& memory, Seen<Memory>& seen, std::uint64_t operation) {
  memory.set(Counter::kTouching, operation + 1);
  memory.fence();
  for (int rank = 0; rank < seen.ranks(); ++rank) {
    if (seen.is_own(rank) || memory.counter(rank, Counter::kRevoked) == 0) continue;
    memory.set(Counter::kTouching, 0);
    seen.await(rank);
    return false;
  }
  return true;
}

/// A part of Protocol, which says what a Memory is.
template <class Memory>
class Direct {
 public:
  /// `pieces` are this rank's; all ranks' kReduced comes to `reduced` once all are done. Whoever's
  /// arrays nobody touches need not wait for that.
  void start(std::uint64_t operation, std::uint64_t pieces, std::uint64_t reduced, bool waits) {
    operation_ = operation;
    pieces_ = pieces;
    done_ = 0;
    reduced_ = reduced;
    tells_ = true;
    waits_ = waits;
  }

  /// kEnded: this rank's result is there, and nobody touches its arrays any more.
  Progress step(Memory& memory, Seen<Memory>& seen) {
    if (!tells_)
      return seen.reached(memory, Counter::kReduced, reduced_) ? Progress::kEnded
                                                               : Progress::kWaits;
    if (done_ < pieces_) {
      refused_ = refused_ || !begin_to_touch(memory, seen, operation_);
      if (refused_) return Progress::kWaits;
      memory.make_piece(done_++);
      memory.set(Counter::kTouching, 0);
      if (done_ < pieces_) return Progress::kMoved;
    }
    memory.advance(Counter::kReduced, reduced_);
    tells_ = false;
    return waits_ ? Progress::kMoved : Progress::kEnded;
  }

  /// Counters that the operation did not need are brought up to where it ends.
  void end(Memory& memory) const {
    memory.set(Counter::kFilled, reduced_);
    memory.set(Counter::kDrained, reduced_);
  }

  bool holds_up(const Memory& memory, int rank) const {
    if (tells_) return memory.counter(rank, Counter::kRevoked) != 0;
    return memory.counter(rank, Counter::kReduced) < reduced_;
  }

  void append_state(std::vector<std::uint64_t>& to) const {
    to.insert(to.end(), {pieces_, done_, tells_, refused_});
  }

 private:
  std::uint64_t operation_ = 0;
  std::uint64_t pieces_ = 0, done_ = 0;
  std::uint64_t reduced_ = 0;
  bool tells_ = false;    // the others do not know yet that this rank's part is done
  bool waits_ = false;    // for theirs
  bool refused_ = false;  // somebody has given up, and this rank with it
};

/// For good: nobody begins to touch this rank's buffers any more.
template <class Memory>
void revoke(Memory& memory) {
  memory.set(Counter::kRevoked, 1);
  memory.fence();
}

/// Behind revoke(): may a rank still be touching them?
template <class Memory>
bool is_touched(const Memory& memory, int own, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank != own && memory.counter(rank, Counter::kTouching) != 0) return true;
  }
  return false;
}

}  // namespace paceline::shm
