#include "launcher/tools/measure/probe/gradient/await_line.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <poll.h>
#include <unistd.h>

#include "comm/base/text.h"

namespace paceline::probe {
namespace {

constexpr long kMostMs = 1'000'000'000;

bool is_readable(int fd, const Deadline& deadline, const Clock& clock) {
  pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline.left(clock.now())).count();
    const int ready = ::poll(&watched, 1, static_cast<int>(std::min<long>(left, kMostMs)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace

Status await_line(int fd, Duration patience) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, patience);
  while (is_readable(fd, deadline, clock)) {
    char letter = 0;
    const ssize_t got = ::read(fd, &letter, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return {Code::kUnavailable, Scope::kProcess, "the process that announces turns has ended"};
    if (letter == '\n') return {};
  }
  return {Code::kTimeout, Scope::kProcess, "no turn was announced for " + seconds_text(patience)};
}

}  // namespace paceline::probe
