// A doorbell: where a rank sleeps until another rank of its host has written something for it.
//
// It lies in memory that both share. The sleeper lies down, looks once more for what it waits for,
// and sleeps; whoever has written rings. Both have a full fence between their write and their look
// at the other's (Dekker's algorithm), so that either the sleeper sees what was written or the
// writer sees that it must ring. A bell without a sleeper costs its ringer that fence and a read.
//
// The fence waits until the write has reached the other core, which is most of what a short
// operation takes. Where processes have registered for it, the sleeper passes a barrier on behalf
// of them all instead, membarrier(2), and they ring without one: sleeping costs more then, so this
// is for ranks that hardly ever sleep.
//
// A sleeper sleeps at the bell (futex), or in epoll, where its descriptors wake it, too. There it
// is woken through an eventfd that it has passed to its ringers.
#pragma once

#include <atomic>
#include <cstdint>

#include "comm/base/clock.h"
#include "comm/base/membarrier.h"

namespace paceline {

/// Zero is a good initial state. A line of its own: it is read whenever something is written.
class alignas(64) Doorbell {
 public:
  /// From now on this process passes a barrier whenever somebody lies down at a bell that has
  /// take_barriers_upon_itself(). False where the kernel has no such thing.
  static bool register_process() { return register_for_barriers(BarrierScope::kMachine); }
  /// Owner, before it lies down for the first time, if its process is registered.
  void take_barriers_upon_itself() { takes_barriers_.store(1, std::memory_order_release); }

  enum class Bed : std::uint32_t { kBell = 1, kEpoll = 2 };
  /// Owner, before its last look. Other ranks ring from now on.
  void lie_down(Bed bed = Bed::kBell) {
    asleep_.store(static_cast<std::uint32_t>(bed), std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (takes_barriers_.load(std::memory_order_relaxed) != 0) pass_barrier(BarrierScope::kMachine);
  }
  /// Owner, lying at the bell: sleeps until it rings, or `at_most`. futex(2).
  void sleep(Duration at_most);
  /// Owner, awake again.
  void rise() { asleep_.store(0, std::memory_order_relaxed); }

 private:
  friend class Ringer;
  void wake(int kick);

  std::atomic<std::uint32_t> asleep_{0};
  std::atomic<std::uint32_t> takes_barriers_{0};
};
static_assert(sizeof(Doorbell) == 64 && std::atomic<std::uint32_t>::is_always_lock_free);

/// How a process rings a doorbell, its own or another's. A value; the bell and the eventfd, if its
/// owner sleeps in epoll, are borrowed.
class Ringer {
 public:
  explicit Ringer(Doorbell& bell, int kick = -1) : bell_(&bell), kick_(kick) {}

  /// Any process, any thread, after its write.
  void ring() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    ring_behind_fence();
  }
  /// The same after its write and a full fence.
  void ring_behind_fence() const {
    if (bell_->asleep_.load(std::memory_order_relaxed) != 0) bell_->wake(kick_);
  }
  /// The same by a process that is registered.
  void ring_registered() const {
    if (bell_->takes_barriers_.load(std::memory_order_relaxed) == 0) return ring();
    compiler_fence();
    ring_behind_fence();
  }

 private:
  Doorbell* bell_;
  int kick_;
};

}  // namespace paceline
