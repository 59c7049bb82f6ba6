// A doorbell: where a rank sleeps until another rank of its host has written something for it.
//
// It lies in memory that both share. The sleeper lies down, looks once more for what it waits for,
// and sleeps; whoever has written rings. Both have a full fence between their write and their look
// at the other's (Dekker's algorithm), so that either the sleeper sees what was written or the
// writer sees that it must ring. A bell without a sleeper costs its ringer that fence and a read.
#pragma once

#include <atomic>
#include <cstdint>

#include "comm/base/clock.h"

namespace paceline {

/// Zero is a good initial state. A line of its own: it is read whenever something is written.
class alignas(64) Doorbell {
 public:
  /// Owner, before its last look. Other ranks ring from now on.
  void lie_down() {
    asleep_.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  /// Owner: sleeps until the bell rings, or `at_most`. futex(2).
  void sleep(Duration at_most);
  /// Owner, awake again.
  void rise() { asleep_.store(0, std::memory_order_relaxed); }

  /// Any process, any thread, after its write.
  void ring() {
    after_writing();
    ring_if_asleep();
  }
  /// The two halves of ring(): one fence will do for several bells.
  static void after_writing() { std::atomic_thread_fence(std::memory_order_seq_cst); }
  void ring_if_asleep() {
    if (asleep_.load(std::memory_order_relaxed) != 0) wake();
  }

 private:
  void wake();

  std::atomic<std::uint32_t> asleep_{0};
};
static_assert(sizeof(Doorbell) == 64 && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace paceline
