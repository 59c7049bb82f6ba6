#include "launcher/registry/hold.h"

#include <functional>

#include "launcher/registry/job_folder.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(2);

}  // namespace

void JobHold::let_go() {
  if (!lock_) return;
  stranger_ = reopen(lock_);
  lock_.reset();
}

void JobHold::leave() {
  let_go();
  clear_up_if_last();
  stranger_.reset();
}

void JobHold::leave_after_others(const Clock& clock, Duration patience) {
  let_go();
  EventLoop loop(clock);
  const Deadline deadline = Deadline::after(clock, patience);
  const std::function<void()> look = [&] {
    if (clear_up_if_last() || deadline.passed(clock.now())) return loop.stop();
    loop.after(kLook, look);
  };
  loop.after(Duration::zero(), look);
  // Where the kernel refuses to wait, the next sweep clears up.
  [[maybe_unused]] const Status waited = loop.run();
  stranger_.reset();
}

// True when there is nothing left to do: it is done, or a sweeper was first.
bool JobHold::clear_up_if_last() {
  if (!stranger_) return true;
  if (try_lock(stranger_) != Lock::kTaken) return false;
  if (folders_.fd && !is_linked(stranger_)) return true;
  remove_leftovers(left_);
  if (!folders_.fd) return true;
  remove_job_folder(folders_.fd, left_.job_id);
  folders_.remove_if_empty();
  return true;
}

}  // namespace paceline::launcher
