// The way in for the one thread that uses something, as long as it is the only one.
//
// Most programs call their communicators from one thread, and a lock that nobody else wants still
// costs two locked instructions, which a barrier of a tenth of a microsecond feels. The first
// thread to come goes in and out with plain loads and stores; when a second one comes, it closes
// this way for good and waits until nobody is inside. Both then take the lock (biased locking; see
// Dice, Huang, Yang, "Asymmetric Dekker Synchronization", 2001).
#pragma once

#include <atomic>
#include <mutex>

#include <sched.h>

#include "comm/base/membarrier.h"

namespace paceline {

class SoloEntry {
 public:
  /// Closed from the beginning where the kernel has no barriers that one thread passes for others.
  SoloEntry() : open_(register_for_barriers(BarrierScope::kProcess)) {}

  /// Is this thread the one?
  bool is_mine() {
    const char* owner = owner_.load(std::memory_order_relaxed);
    return owner == &here_ || (owner == nullptr && owner_.compare_exchange_strong(owner, &here_));
  }
  /// True if this thread is the one, and is inside now.
  bool enter() {
    if (!is_mine() || !open_.load(std::memory_order_relaxed)) return false;
    inside_.store(true, std::memory_order_relaxed);
    compiler_fence();
    if (open_.load(std::memory_order_relaxed)) return true;
    leave();
    return false;
  }
  /// Is this thread inside?
  bool is_inside() const {
    return owner_.load(std::memory_order_relaxed) == &here_ &&
           inside_.load(std::memory_order_relaxed);
  }
  void leave() { inside_.store(false, std::memory_order_release); }

  /// Any thread, not inside: when this returns nobody is, nor ever will be.
  void close() {
    if (closed_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(closing_);
    if (closed_.load(std::memory_order_relaxed)) return;
    open_.store(false, std::memory_order_relaxed);
    pass_barrier(BarrierScope::kProcess);
    while (inside_.load(std::memory_order_acquire)) ::sched_yield();
    closed_.store(true, std::memory_order_release);
  }

 private:
  // Its address names the thread. No call into the dynamic linker, as is a shared library's way to
  // its variables of a thread.
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local char here_ = 0;

  std::atomic<const char*> owner_{nullptr};  // the first that has come
  std::atomic<bool> inside_{false};          // written by the owner; means little once closed
  std::atomic<bool> open_;
  std::atomic<bool> closed_{false};  // and nobody has stayed inside
  std::mutex closing_;
};

}  // namespace paceline
