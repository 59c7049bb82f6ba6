// The flag protocol of the direct shared-memory backend: which rank may touch what, and when.
//
// It moves no byte itself: what it decides, a Memory does. The backend gives it the shared segment;
// tests/interleave gives it a model of memory in which every order of the ranks' steps, and every
// value that the C++ memory model lets a load return, is tried.
//
// An operation is begun by a contribution: a call's flag in the writer's own ring. Where everybody
// contributes (all-reduce, barrier), a rank ends the operation when it has met the flags of all;
// otherwise (broadcast) it meets the root's. A flag holds the operation's number and a digest of
// what was called, so a rank that called something else is found out by the flag itself. What it
// called is written beside it: by who contributes alone at once, since it may not look at anybody;
// by the others, which find out themselves, only when they do or have waited for a while.
//
// Where ranks share CPUs, whoever looks at all others mostly looks too early, and pays for it with
// the others' time. So they count their arrivals, and the last one, who need not wait for anybody,
// meets all alone and leaves the result for them: each waits for one flag.
//
// A long operation goes through chunks in flight. Of each, every rank stages its input, reduces its
// own part from everybody's staging, and drains the others' parts from their results:
//
//   stage chunk c    when nobody needs staged chunk c - kChunks:     all kReduced > c - kChunks
//   reduce chunk c   when all have staged it:                        all kFilled  > c
//                    and nobody needs result chunk c - kChunks:      all kDrained > c - kChunks
//   drain chunk c    when all have reduced it:                       all kReduced > c
//
// In a broadcast the root stages and the others drain the staging itself.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "collectives/backend/shm/form.h"
#include "collectives/backend/shm/layout.h"

namespace paceline::shm {

/// What a step has come to.
enum class Progress : std::uint8_t {
  kMoved,    ///< there is more to do at once
  kWaits,    ///< for awaited()
  kDiffers,  ///< awaited() has called something else, and has explained what
  kEnded,
};

/// A step() looks at other ranks' flags and counters until it can do one thing, and does it with
/// what follows from it: trying every order of steps, with looks that may see less than there is,
/// is trying every order of accesses.
///
/// Memory has kCalls, kExchanges and kChunks, the lengths of its rings, and, with everything an
/// argument says about this rank's own operation:
///   void publish(operation, flag, everybody)  writes this rank's contribution, then its flag
///   void explain(operation)                   writes what this rank has called, release
///   bool is_explained(rank, operation)        acquire
///   void wake_others()                        those who may wait for it
///   std::uint64_t flag(rank, operation)       acquire
///   void take(root, operation)                reads the root's contribution
///   void combine(operation)                   reads all contributions
///   bool arrive(operation)                    counts, acquire and release: is this the last rank?
///   void gather(operation)                    combines all, and writes the result for the others
///   void conclude(operation, flag)            release, and wakes all
///   std::uint64_t conclusion(operation)       acquire
///   void take_result(operation)               reads it
///   void expect_exchange(operation)           a hint: likely to be met as the last one was
///   std::uint64_t counter(rank, Counter)      acquire
///   void advance(Counter, value)              release, and wakes who may wait for it
///   void stage(chunk), reduce(chunk), drain(chunk), drain_staged(root, chunk)
template <class Memory>
class Protocol {
 public:
  Protocol(int rank, int ranks)
      : rank_(rank), ranks_(ranks), seen_(kCounters, Row(static_cast<std::size_t>(ranks), 0)) {}

  void start(const Form& form) {
    form_ = form;
    flag_ = flag_of(operation_, form.digest);
    staged_ = reduced_ = drained_ = 0;
    explains_ = form.everybody;
    met_ = form.everybody ? 0 : form.root;
    stage_ = contributes() ? Stage::kPlace : Stage::kMeet;
  }

  /// Does this rank's contribution begin the operation?
  bool contributes() const { return form_.everybody || form_.root == rank_; }
  std::uint64_t operation() const { return operation_; }
  /// The number of the operation's first chunk.
  std::uint64_t first_chunk() const { return first_chunk_; }
  /// Whom the last step waited for: one of those that hold it up.
  int awaited() const { return awaited_; }
  /// All that hold this rank up, each by a flag or counter that it has not got to.
  std::vector<int> holding_up(const Memory& memory) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (!is_own(rank) && holds_up(memory, rank)) ranks.push_back(rank);
    }
    // All have arrived: one of them has yet to conclude.
    if (ranks.empty() && stage_ == Stage::kResult) {
      for (int rank = 0; rank < ranks_; ++rank) {
        if (!is_own(rank)) ranks.push_back(rank);
      }
    }
    return ranks;
  }

  /// All that decides what it does next, for those who try every order.
  std::vector<std::uint64_t> state() const {
    std::vector<std::uint64_t> all{static_cast<std::uint64_t>(stage_),
                                   static_cast<std::uint64_t>(met_),
                                   static_cast<std::uint64_t>(role_),
                                   explains_,
                                   operation_,
                                   first_chunk_,
                                   staged_,
                                   reduced_,
                                   drained_};
    for (const Row& row : seen_) all.insert(all.end(), row.begin(), row.end());
    all.insert(all.end(), by_all_.begin(), by_all_.end());
    return all;
  }

  /// To be called where steps have long been in vain, or one has found a difference: those whose
  /// flag is another wait for it.
  void explain(Memory& memory) {
    if (!explains_ || stage_ == Stage::kPlace) return;
    explains_ = false;
    memory.explain(operation_);
    memory.wake_others();
  }

  void contribute(Memory& memory) { find_place(memory); }  ///< a contributor's first step
  Progress step(Memory& memory) {
    switch (stage_) {
      case Stage::kPlace:
        return find_place(memory);
      case Stage::kMeet:
        return meet(memory);
      case Stage::kGather:
        return gather(memory);
      case Stage::kResult:
        return take_result(memory);
      case Stage::kPipeline:
        return form_.everybody ? step_all_reduce(memory) : step_broadcast(memory);
      case Stage::kEnd:
        return end(memory);
      case Stage::kIdle:
        break;
    }
    return Progress::kEnded;
  }

 private:
  using Row = std::vector<std::uint64_t>;
  enum class Stage : std::uint8_t { kIdle, kPlace, kMeet, kGather, kResult, kPipeline, kEnd };
  static constexpr int kRoles = 3;

  bool is_own(int rank) const { return rank == rank_; }
  std::uint64_t& by_all(Counter which) { return by_all_[static_cast<std::size_t>(which)]; }
  std::uint64_t& seen(Counter which, int rank) {
    return seen_[static_cast<std::size_t>(which)][static_cast<std::size_t>(rank)];
  }

  // The call's place in the ring is free once everybody has ended the call that was there.
  Progress find_place(Memory& memory) {
    if (!reached(memory, Counter::kDone, done_before_place())) return Progress::kWaits;
    memory.publish(operation_, flag_, form_.everybody);
    if (!form_.everybody) memory.explain(operation_);
    if (form_.gathered) {
      stage_ = memory.arrive(operation_) ? Stage::kGather : Stage::kResult;
      met_ = rank_;
      return Progress::kMoved;
    }
    memory.wake_others();
    stage_ = form_.everybody ? Stage::kMeet : after_meeting();
    return Progress::kMoved;
  }

  std::uint64_t done_before_place() const {
    const std::uint64_t ring = form_.everybody ? Memory::kExchanges : Memory::kCalls;
    return operation_ + 1 > ring ? operation_ + 1 - ring : 0;
  }

  Progress meet(Memory& memory) {
    if (is_own(met_)) ++met_;
    if (met_ < ranks_) {
      const Progress met = compare(memory, met_);
      if (met != Progress::kMoved) return met;
      ++met_;
    }
    if (!form_.everybody) return end_meeting_of_root(memory);
    if (is_own(met_)) ++met_;
    if (met_ < ranks_) return Progress::kMoved;
    memory.combine(operation_);
    memory.expect_exchange(operation_ + 1);
    return end_exchange(memory);
  }

  // The root has begun this one, and so ended all before it.
  Progress end_meeting_of_root(Memory& memory) {
    memory.take(form_.root, operation_);
    seen(Counter::kDone, form_.root) = std::max(seen(Counter::kDone, form_.root), operation_);
    return leave_meeting(memory);
  }

  // kMoved: it has called the same; kWaits: it has not come so far.
  Progress compare(const Memory& memory, int rank) {
    awaited_ = rank;
    const std::uint64_t flag = memory.flag(rank, operation_);
    if (flag == flag_) return Progress::kMoved;
    const bool same_call = static_cast<std::uint32_t>(flag) == static_cast<std::uint32_t>(flag_);
    return same_call && memory.is_explained(rank, operation_) ? Progress::kDiffers
                                                              : Progress::kWaits;
  }

  // All have arrived, so all flags are there.
  Progress gather(Memory& memory) {
    for (int rank = 0; rank < ranks_; ++rank) {
      const Progress met = is_own(rank) ? Progress::kMoved : compare(memory, rank);
      if (met != Progress::kMoved) return met;
    }
    memory.gather(operation_);
    memory.conclude(operation_, flag_);
    return end_exchange(memory);
  }

  // Who has called something that is not gathered does not arrive: with each look in vain one of
  // the calls is looked at.
  Progress take_result(Memory& memory) {
    if (memory.conclusion(operation_) != flag_) {
      met_ = next_to(met_);
      const Progress met = compare(memory, met_);
      return met == Progress::kDiffers ? met : Progress::kWaits;
    }
    memory.take_result(operation_);
    return end_exchange(memory);
  }

  int next_to(int rank) const {
    const int next = (rank + 1) % ranks_;
    return is_own(next) ? (next + 1) % ranks_ : next;
  }

  // All have begun this one, and so ended all before it.
  Progress end_exchange(Memory& memory) {
    by_all(Counter::kDone) = operation_;
    return leave_meeting(memory);
  }

  Progress leave_meeting(Memory& memory) {
    stage_ = after_meeting();
    return stage_ == Stage::kEnd ? end(memory) : Progress::kMoved;
  }

  Stage after_meeting() const { return form_.chunks > 0 ? Stage::kPipeline : Stage::kEnd; }

  // The three roles take turns; it waits once none of them can go on.
  Progress step_all_reduce(Memory& memory) {
    Progress progress = Progress::kWaits;
    for (int tried = 0; tried < kRoles && progress == Progress::kWaits; ++tried) {
      progress = try_role(memory, role_);
      role_ = (role_ + 1) % kRoles;
    }
    if (drained_ == form_.chunks) stage_ = Stage::kEnd;
    return progress;
  }

  Progress try_role(Memory& memory, int role) {
    if (role == 0) return try_stage(memory);
    return role == 1 ? try_reduce(memory) : try_drain(memory);
  }

  Progress try_stage(Memory& memory) {
    if (staged_ == form_.chunks) return Progress::kWaits;
    const std::uint64_t chunk = first_chunk_ + staged_;
    if (!reached(memory, Counter::kReduced, left_behind(chunk))) return Progress::kWaits;
    memory.stage(chunk);
    memory.advance(Counter::kFilled, chunk + 1);
    ++staged_;
    return Progress::kMoved;
  }

  Progress try_reduce(Memory& memory) {
    if (reduced_ == staged_) return Progress::kWaits;
    const std::uint64_t chunk = first_chunk_ + reduced_;
    if (!reached(memory, Counter::kFilled, chunk + 1)) return Progress::kWaits;
    if (!reached(memory, Counter::kDrained, left_behind(chunk))) return Progress::kWaits;
    memory.reduce(chunk);
    memory.advance(Counter::kReduced, chunk + 1);
    ++reduced_;
    return Progress::kMoved;
  }

  Progress try_drain(Memory& memory) {
    if (drained_ == reduced_) return Progress::kWaits;
    const std::uint64_t chunk = first_chunk_ + drained_;
    if (!reached(memory, Counter::kReduced, chunk + 1)) return Progress::kWaits;
    memory.drain(chunk);
    memory.advance(Counter::kDrained, chunk + 1);
    ++drained_;
    return Progress::kMoved;
  }

  Progress step_broadcast(Memory& memory) {
    const Progress progress = is_own(form_.root) ? try_stage(memory) : try_copy(memory);
    if ((is_own(form_.root) ? staged_ : drained_) == form_.chunks) stage_ = Stage::kEnd;
    return progress;
  }

  Progress try_copy(Memory& memory) {
    const std::uint64_t chunk = first_chunk_ + drained_;
    if (!reached_by(memory, form_.root, Counter::kFilled, chunk + 1)) return Progress::kWaits;
    memory.drain_staged(form_.root, chunk);
    memory.advance(Counter::kReduced, chunk + 1);
    ++drained_;
    return Progress::kMoved;
  }

  // Counters that this operation did not need are brought up to where it ends, since the next
  // one's chunks are numbered on from there.
  Progress end(Memory& memory) {
    const std::uint64_t chunks = first_chunk_ + form_.chunks;
    if (form_.chunks > 0 && !form_.everybody) {
      memory.advance(is_own(form_.root) ? Counter::kReduced : Counter::kFilled, chunks);
      memory.advance(Counter::kDrained, chunks);
    }
    first_chunk_ = chunks;
    memory.advance(Counter::kDone, ++operation_);
    stage_ = Stage::kIdle;
    return Progress::kEnded;
  }

  bool holds_up(const Memory& memory, int rank) const {
    const auto is_behind = [&](Counter which, std::uint64_t least) {
      return memory.counter(rank, which) < least;
    };
    const bool is_root = rank == form_.root;
    switch (stage_) {
      case Stage::kPlace:
        return is_behind(Counter::kDone, done_before_place());
      case Stage::kMeet:
      case Stage::kGather:
      case Stage::kResult:
        return (form_.everybody || is_root) && memory.flag(rank, operation_) != flag_;
      case Stage::kPipeline:
        if (!form_.everybody && !contributes())
          return is_root && is_behind(Counter::kFilled, first_chunk_ + drained_ + 1);
        if (staged_ < form_.chunks &&
            is_behind(Counter::kReduced, left_behind(first_chunk_ + staged_)))
          return true;
        if (reduced_ < staged_ && form_.everybody &&
            (is_behind(Counter::kFilled, first_chunk_ + reduced_ + 1) ||
             is_behind(Counter::kDrained, left_behind(first_chunk_ + reduced_))))
          return true;
        return drained_ < reduced_ && is_behind(Counter::kReduced, first_chunk_ + drained_ + 1);
      case Stage::kEnd:
      case Stage::kIdle:
        break;
    }
    return false;
  }

  static std::uint64_t left_behind(std::uint64_t chunk) {
    return chunk + 1 > Memory::kChunks ? chunk + 1 - Memory::kChunks : 0;
  }

  bool reached(Memory& memory, Counter which, std::uint64_t least) {
    if (by_all(which) >= least) return true;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (!is_own(rank) && !reached_by(memory, rank, which, least)) return false;
    }
    by_all(which) = least;
    return true;
  }

  bool reached_by(Memory& memory, int rank, Counter which, std::uint64_t least) {
    if (seen(which, rank) >= least) return true;
    awaited_ = rank;
    seen(which, rank) = memory.counter(rank, which);
    return seen(which, rank) >= least;
  }

  int rank_;
  int ranks_;
  std::vector<Row> seen_;  // of each counter, by rank: what it was at the last look
  std::array<std::uint64_t, kCounters> by_all_{};  // what all have reached, as far as that is known
  Form form_;
  Stage stage_ = Stage::kIdle;
  bool explains_ = false;  // it has yet to be written what this rank has called
  std::uint64_t flag_ = 0;
  std::uint64_t operation_ = 0;
  std::uint64_t first_chunk_ = 0;
  std::uint64_t staged_ = 0, reduced_ = 0, drained_ = 0;  // chunks of this operation
  int met_ = 0;   // the next whose contribution is taken; in kResult: whose call was looked at last
  int role_ = 0;  // of the three in an all-reduce, whose turn it is
  int awaited_ = -1;
};

}  // namespace paceline::shm
