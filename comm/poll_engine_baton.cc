// PollEngine, continued: the baton, who has it, and who waits for it.
#include <algorithm>

#include "comm/poll_engine.h"

namespace paceline {
namespace {

// The number of batons that this thread has or waits for. It exceeds 1 if a driver of one engine
// calls another engine.
[[gnu::tls_model("initial-exec")]] constinit thread_local int t_entered = 0;

// Counted from before the first lock is taken until after the last lock is released. A signal
// handler that calls exit() in between must not take any of these locks.
void note_entry() {
  ++t_entered;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
void note_return() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  --t_entered;
}

}  // namespace

bool PollEngine::is_entered_here() const { return solo_.is_inside() || t_entered > 0; }

void PollEngine::nudge() {
  nudged_.store(true);
  if (!holder_sleeps_.load()) return;
  note_entry();
  kick();
  note_return();
}

void PollEngine::acquire() {
  if (!solo_.enter()) enqueue();
}

// The owner of the solo entry is outside.
void PollEngine::enqueue() {
  note_entry();
  if (!solo_.is_mine()) solo_.close();
  queue_up();
}

void PollEngine::queue_up() {
  const std::uint32_t ticket = next_ticket_.fetch_add(1);
  if (now_serving_.load() != ticket && holder_sleeps_.load()) kick();
  take(ticket);
}

void PollEngine::take(std::uint32_t ticket) {
  for (std::uint32_t serving = now_serving_.load(); serving != ticket;
       serving = now_serving_.load()) {
    now_serving_.wait(serving);
  }
}

// Whoever held the baton may have changed what others wait for.
void PollEngine::release() {
  if (solo_.is_inside()) return solo_.leave();
  wake_parked();
  pass_on();
  note_return();
}

void PollEngine::pass_on() {
  now_serving_.fetch_add(1);
  now_serving_.notify_all();
}

bool PollEngine::others_queue() const { return next_ticket_.load() != now_serving_.load() + 1; }

void PollEngine::let_others_in() {
  const std::uint32_t ticket = next_ticket_.fetch_add(1);
  pass_on();
  take(ticket);
}

// Passes the baton on until something may have changed or the deadline has passed. The thread stays
// counted as entered, because it takes the mutex while it parks.
void PollEngine::park(Deadline deadline) {
  ++parked_;
  std::unique_lock lock(park_mutex_);
  const std::uint64_t seen = generation_;
  pass_on();
  parking_.wait_for(lock, std::min(deadline.left(clock_.now()), kLongestSleep),
                    [&] { return generation_ != seen; });
  lock.unlock();
  queue_up();
  --parked_;
}

void PollEngine::wake_parked() {
  if (parked_ == 0) return;
  const std::lock_guard lock(park_mutex_);
  ++generation_;
  parking_.notify_all();
}

}  // namespace paceline
