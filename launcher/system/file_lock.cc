#include "launcher/system/file_lock.h"

#include <cerrno>
#include <chrono>

#include <sys/file.h>

#include "comm/base/try.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr Duration kTryEvery = std::chrono::milliseconds(10);

Result<bool> try_to_lock(int fd, const std::string& what) {
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  return system_error("lock " + what);
}

}  // namespace

Result<bool> lock_file(int fd, const std::string& what, Duration patience,
                       const std::function<void()>& waits) {
  Result<bool> locked = try_to_lock(fd, what);
  if (!locked.ok() || *locked) return locked;
  waits();
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, patience);
  EventLoop loop(clock);
  const std::function<void()> look = [&] {
    locked = try_to_lock(fd, what);
    if (!locked.ok() || *locked || deadline.passed(clock.now())) return loop.stop();
    loop.after(kTryEvery, look);
  };
  loop.after(Duration::zero(), look);
  PACELINE_TRY(loop.run());
  return locked;
}

}  // namespace paceline::launcher
