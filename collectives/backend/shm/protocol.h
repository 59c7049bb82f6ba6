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
// meets all alone and leaves the result for them, or says that all have come: each waits for one
// flag.
//
// A long operation goes on after that: directly between the ranks' buffers (direct.h), where all
// lie in memory that all reach, or through chunks in flight (pipeline.h). Where it would end with
// the meeting but for the buffers, whoever's arrays lie in none posts its contribution as for a
// short one: if all have, it has ended.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/backend/shm/direct.h"
#include "collectives/backend/shm/form.h"
#include "collectives/backend/shm/layout.h"
#include "collectives/backend/shm/pipeline.h"
#include "collectives/backend/shm/seen.h"

namespace paceline::shm {

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
///   void conclude(operation, flag)            release
///   std::uint64_t conclusion(operation)       acquire
///   void take_result(operation)               reads it
///   void expect_exchange(operation)           a hint: likely to be met as the last one was
///   std::uint64_t counter(rank, Counter)      acquire
///   void advance(Counter, value)              release, and wakes who may wait for it
///   void set(Counter, value)                  release; nobody waits for it
///   void fence()                              sequentially consistent
///   bool needs_chunks()                       this rank's arrays lie where others do not reach
///   bool take_posts(operation)                reads what was contributed: has it been the data,
///                                             from all? Then the result is there
///   std::optional<std::uint64_t> begin_direct(operation, form)
///                                             reads what was contributed: the pieces of this
///                                             rank's part, or nothing where chunks have to do
///   void make_piece(piece)                    reads others' arrays, and may write them
///   void stage(chunk), reduce(chunk), drain(chunk), drain_staged(root, chunk), take_staged(chunk)
template <class Memory>
class Protocol {
 public:
  Protocol(int rank, int ranks) : rank_(rank), ranks_(ranks), seen_(rank, ranks) {}

  void start(const Form& form) {
    form_ = form;
    flag_ = flag_of(operation_, form.digest);
    explains_ = form.everybody;
    met_ = form.everybody ? 0 : form.root;
    stage_ = contributes() ? Stage::kPlace : Stage::kMeet;
    if (form.chunks > 0) pipeline_.start(form, first_chunk_);
  }

  /// Does this rank's contribution begin the operation?
  bool contributes() const { return form_.everybody || form_.root == rank_; }
  std::uint64_t operation() const { return operation_; }
  /// The number of the operation's first chunk.
  std::uint64_t first_chunk() const { return first_chunk_; }
  /// Whom the last step waited for: one of those that hold it up.
  int awaited() const { return seen_.awaited(); }
  /// Does it wait for contributions of all ranks, or for the result of them?
  bool awaits_all() const {
    return form_.everybody &&
           (stage_ == Stage::kMeet || stage_ == Stage::kGather || stage_ == Stage::kResult);
  }
  /// Has another rank yet to get to what this one waits for?
  bool holds_up(const Memory& memory, int rank) const {
    switch (stage_) {
      case Stage::kPlace:
        return memory.counter(rank, Counter::kDone) < done_before_place();
      case Stage::kMeet:
      case Stage::kGather:
      case Stage::kResult:
        return (form_.everybody || rank == form_.root) && memory.flag(rank, operation_) != flag_;
      case Stage::kDirect:
        return direct_.holds_up(memory, rank);
      case Stage::kPipeline:
        return pipeline_.holds_up(memory, seen_, rank);
      case Stage::kEnd:
      case Stage::kIdle:
        break;
    }
    return false;
  }
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
                                   static_cast<std::uint64_t>(met_), explains_, operation_,
                                   first_chunk_};
    pipeline_.append_state(all);
    direct_.append_state(all);
    seen_.append_state(all);
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
      case Stage::kDirect:
        return go_on(memory, direct_.step(memory, seen_));
      case Stage::kPipeline:
        return go_on(memory, pipeline_.step(memory, seen_));
      case Stage::kEnd:
        return end(memory);
      case Stage::kIdle:
        break;
    }
    return Progress::kEnded;
  }

 private:
  enum class Stage : std::uint8_t {
    kIdle,
    kPlace,
    kMeet,
    kGather,
    kResult,
    kDirect,
    kPipeline,
    kEnd,
  };

  bool is_own(int rank) const { return rank == rank_; }

  // The call's place in the ring is free once everybody has ended the call that was there. Inline:
  // as a call of its own it costs a short operation 35 instructions more.
  [[gnu::always_inline]] Progress find_place(Memory& memory) {
    if (!seen_.reached(memory, Counter::kDone, done_before_place())) return Progress::kWaits;
    memory.publish(operation_, flag_, form_.everybody);
    if (!form_.everybody) memory.explain(operation_);
    if (form_.chunks > 0) stage_early(memory);
    if (form_.gathered) {
      stage_ = memory.arrive(operation_) ? Stage::kGather : Stage::kResult;
      met_ = rank_;
      return Progress::kMoved;
    }
    memory.wake_others();
    stage_ = Stage::kMeet;
    if (!form_.everybody) begin_long_if_it_is(memory);
    return Progress::kMoved;
  }

  // Who knows that chunks will have to do need not wait for the others to say so.
  [[gnu::noinline]] void stage_early(Memory& memory) {
    if (form_.everybody && memory.needs_chunks()) pipeline_.stage_early(memory, seen_);
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
    if (form_.chunks == 0) [[likely]] {
      memory.combine(operation_);
      memory.expect_exchange(operation_ + 1);
    }
    return end_exchange(memory);
  }

  // The root has begun this one, and so ended all before it.
  Progress end_meeting_of_root(Memory& memory) {
    memory.take(form_.root, operation_);
    seen_.note(Counter::kDone, form_.root, operation_);
    return leave_meeting(memory);
  }

  // kMoved: it has called the same; kWaits: it has not come so far.
  Progress compare(const Memory& memory, int rank) {
    seen_.await(rank);
    const std::uint64_t flag = memory.flag(rank, operation_);
    if (flag == flag_) return Progress::kMoved;
    const bool same_call = static_cast<std::uint32_t>(flag) == static_cast<std::uint32_t>(flag_);
    return same_call && memory.is_explained(rank, operation_) ? Progress::kDiffers
                                                              : Progress::kWaits;
  }

  // All have arrived, so all flags are there. The end of the operation wakes who sleeps till then.
  Progress gather(Memory& memory) {
    for (int rank = 0; rank < ranks_; ++rank) {
      const Progress met = is_own(rank) ? Progress::kMoved : compare(memory, rank);
      if (met != Progress::kMoved) return met;
    }
    memory.gather(operation_);
    memory.conclude(operation_, flag_);
    const Progress progress = end_exchange(memory);
    if (stage_ == Stage::kDirect || stage_ == Stage::kPipeline) memory.wake_others();
    return progress;
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
    seen_.note_all(Counter::kDone, operation_);
    return leave_meeting(memory);
  }

  Progress leave_meeting(Memory& memory) {
    if (form_.chunks == 0) [[likely]]
      return end(memory);
    begin_long(memory);
    return Progress::kMoved;
  }

  void begin_long_if_it_is(Memory& memory) {
    stage_ = Stage::kEnd;
    if (form_.chunks > 0) begin_long(memory);
  }

  // All that contribute have: so all ranks come to the same. Apart from what short operations do.
  [[gnu::noinline]] void begin_long(Memory& memory) {
    const std::uint64_t end_chunk = first_chunk_ + form_.chunks;
    if (memory.take_posts(operation_)) {
      stage_ = Stage::kEnd;
      for (const Counter which : {Counter::kFilled, Counter::kReduced, Counter::kDrained})
        memory.set(which, end_chunk);
      memory.expect_exchange(operation_ + 1);
      return;
    }
    const std::optional<std::uint64_t> pieces = memory.begin_direct(operation_, form_);
    stage_ = pieces ? Stage::kDirect : Stage::kPipeline;
    if (pieces) direct_.start(operation_, *pieces, end_chunk, contributes());
  }

  Progress go_on(Memory& memory, Progress progress) {
    if (progress != Progress::kEnded) return progress;
    if (stage_ == Stage::kDirect) direct_.end(memory);
    if (stage_ == Stage::kPipeline) pipeline_.end(memory, seen_);
    return end(memory);
  }

  // The next operation's chunks are numbered on from here.
  Progress end(Memory& memory) {
    first_chunk_ += form_.chunks;
    memory.advance(Counter::kDone, ++operation_);
    stage_ = Stage::kIdle;
    return Progress::kEnded;
  }

  int rank_;
  int ranks_;
  Seen<Memory> seen_;
  Form form_;
  Stage stage_ = Stage::kIdle;
  bool explains_ = false;  // it has yet to be written what this rank has called
  std::uint64_t flag_ = 0;
  std::uint64_t operation_ = 0;
  std::uint64_t first_chunk_ = 0;
  int met_ = 0;  // the next whose contribution is taken; in kResult: whose call was looked at last
  Direct<Memory> direct_;
  Pipeline<Memory> pipeline_;
};

}  // namespace paceline::shm
