#include "comm/doorbell.h"

#include <limits>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace paceline {
namespace {

// Between processes, so none of the operations is a private one.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* timeout) {
  return ::syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

void Doorbell::sleep(Duration at_most) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
  const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (at_most - seconds).count()};
  futex(asleep_, FUTEX_WAIT, 1, &timeout);
}

void Doorbell::wake(int kick) {
  const std::uint32_t bed = asleep_.exchange(0, std::memory_order_relaxed);
  if (bed == static_cast<std::uint32_t>(Bed::kBell))
    futex(asleep_, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr);
  const std::uint64_t one = 1;
  if (bed == static_cast<std::uint32_t>(Bed::kEpoll)) (void)!::write(kick, &one, sizeof one);
}

}  // namespace paceline
