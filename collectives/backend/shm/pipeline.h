// How a long operation goes on once its ranks have met: through chunks in flight.
//
// Of each chunk of an all-reduce every rank stages its input, reduces its own part from everybody's
// staging, and drains the others' parts from their results:
//
//   stage chunk c    when nobody needs staged chunk c - kChunks:     all kReduced > c - kChunks
//   reduce chunk c   when all have staged it:                        all kFilled  > c
//                    and nobody needs result chunk c - kChunks:      all kDrained > c - kChunks
//   drain chunk c    when all have reduced it:                       all kReduced > c
//
// In a broadcast the root stages and the others drain the staging itself. So does everybody where
// each rank's result is its own: of all stagings, what is for it.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/backend/shm/form.h"
#include "collectives/backend/shm/layout.h"
#include "collectives/backend/shm/seen.h"

namespace paceline::shm {

/// A part of Protocol, which says what a Memory is.
template <class Memory>
class Pipeline {
 public:
  /// Chunks are numbered on from those of the operations before.
  void start(const Form& form, std::uint64_t first_chunk) {
    form_ = form;
    first_chunk_ = first_chunk;
    staged_ = reduced_ = drained_ = 0;
  }

  /// Before the ranks have met: what the others can take as soon as they have.
  void stage_early(Memory& memory, Seen<Memory>& seen) {
    const bool stages = form_.flow != Flow::kFromRoot || seen.is_own(form_.root);
    if (stages) try_stage(memory, seen);
  }

  /// kEnded: this rank has nothing more to do.
  Progress step(Memory& memory, Seen<Memory>& seen) {
    if (form_.flow == Flow::kFromRoot) return step_broadcast(memory, seen);
    return form_.flow == Flow::kToEach ? step_exchange(memory, seen)
                                       : step_all_reduce(memory, seen);
  }

  /// Counters that the operation did not need are brought up to where it ends.
  void end(Memory& memory, const Seen<Memory>& seen) const {
    if (form_.flow == Flow::kShared) return;
    const std::uint64_t chunks = first_chunk_ + form_.chunks;
    if (form_.flow == Flow::kFromRoot)
      memory.advance(seen.is_own(form_.root) ? Counter::kReduced : Counter::kFilled, chunks);
    memory.advance(Counter::kDrained, chunks);
  }

  bool holds_up(const Memory& memory, const Seen<Memory>& seen, int rank) const {
    const auto is_behind = [&](Counter which, std::uint64_t least) {
      return memory.counter(rank, which) < least;
    };
    if (form_.flow == Flow::kFromRoot && !seen.is_own(form_.root))
      return rank == form_.root && is_behind(Counter::kFilled, first_chunk_ + drained_ + 1);
    if (staged_ < form_.chunks && is_behind(Counter::kReduced, left_behind(first_chunk_ + staged_)))
      return true;
    if (form_.flow == Flow::kToEach)
      return drained_ < staged_ && is_behind(Counter::kFilled, first_chunk_ + drained_ + 1);
    if (reduced_ < staged_ && form_.flow == Flow::kShared &&
        (is_behind(Counter::kFilled, first_chunk_ + reduced_ + 1) ||
         is_behind(Counter::kDrained, left_behind(first_chunk_ + reduced_))))
      return true;
    return drained_ < reduced_ && is_behind(Counter::kReduced, first_chunk_ + drained_ + 1);
  }

  void append_state(std::vector<std::uint64_t>& to) const {
    to.insert(to.end(), {static_cast<std::uint64_t>(role_), staged_, reduced_, drained_});
  }

 private:
  static constexpr int kRoles = 3;

  // The three roles take turns; it waits once none of them can go on.
  Progress step_all_reduce(Memory& memory, Seen<Memory>& seen) {
    bool moved = false;
    for (int tried = 0; tried < kRoles && !moved; ++tried) {
      moved = try_role(memory, seen);
      role_ = (role_ + 1) % kRoles;
    }
    if (drained_ == form_.chunks) return Progress::kEnded;
    return moved ? Progress::kMoved : Progress::kWaits;
  }

  bool try_role(Memory& memory, Seen<Memory>& seen) {
    if (role_ == 0) return try_stage(memory, seen);
    return role_ == 1 ? try_reduce(memory, seen) : try_drain(memory, seen);
  }

  bool try_stage(Memory& memory, Seen<Memory>& seen) {
    if (staged_ == form_.chunks) return false;
    const std::uint64_t chunk = first_chunk_ + staged_;
    if (!seen.reached(memory, Counter::kReduced, left_behind(chunk))) return false;
    memory.stage(chunk);
    memory.advance(Counter::kFilled, chunk + 1);
    ++staged_;
    return true;
  }

  bool try_reduce(Memory& memory, Seen<Memory>& seen) {
    if (reduced_ == staged_) return false;
    const std::uint64_t chunk = first_chunk_ + reduced_;
    if (!seen.reached(memory, Counter::kFilled, chunk + 1)) return false;
    if (!seen.reached(memory, Counter::kDrained, left_behind(chunk))) return false;
    memory.reduce(chunk);
    memory.advance(Counter::kReduced, chunk + 1);
    ++reduced_;
    return true;
  }

  bool try_drain(Memory& memory, Seen<Memory>& seen) {
    if (drained_ == reduced_) return false;
    const std::uint64_t chunk = first_chunk_ + drained_;
    if (!seen.reached(memory, Counter::kReduced, chunk + 1)) return false;
    memory.drain(chunk);
    memory.advance(Counter::kDrained, chunk + 1);
    ++drained_;
    return true;
  }

  Progress step_exchange(Memory& memory, Seen<Memory>& seen) {
    const bool staged = try_stage(memory, seen);
    const bool taken = try_take(memory, seen);
    if (drained_ == form_.chunks) return Progress::kEnded;
    return staged || taken ? Progress::kMoved : Progress::kWaits;
  }

  bool try_take(Memory& memory, Seen<Memory>& seen) {
    if (drained_ == staged_) return false;
    const std::uint64_t chunk = first_chunk_ + drained_;
    if (!seen.reached(memory, Counter::kFilled, chunk + 1)) return false;
    memory.take_staged(chunk);
    memory.advance(Counter::kReduced, chunk + 1);
    ++drained_;
    return true;
  }

  Progress step_broadcast(Memory& memory, Seen<Memory>& seen) {
    const bool is_root = seen.is_own(form_.root);
    const bool moved = is_root ? try_stage(memory, seen) : try_copy(memory, seen);
    if ((is_root ? staged_ : drained_) == form_.chunks) return Progress::kEnded;
    return moved ? Progress::kMoved : Progress::kWaits;
  }

  bool try_copy(Memory& memory, Seen<Memory>& seen) {
    const std::uint64_t chunk = first_chunk_ + drained_;
    if (!seen.reached_by(memory, form_.root, Counter::kFilled, chunk + 1)) return false;
    memory.drain_staged(form_.root, chunk);
    memory.advance(Counter::kReduced, chunk + 1);
    ++drained_;
    return true;
  }

  static std::uint64_t left_behind(std::uint64_t chunk) {
    return chunk + 1 > Memory::kChunks ? chunk + 1 - Memory::kChunks : 0;
  }

  Form form_;
  std::uint64_t first_chunk_ = 0;
  std::uint64_t staged_ = 0, reduced_ = 0, drained_ = 0;  // chunks of this operation
  int role_ = 0;  // of the three in an all-reduce, whose turn it is
};

}  // namespace paceline::shm
