#include "launcher/tools/lab/relay.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/system.h"
#include "launcher/system/tap.h"

namespace paceline::launcher {
namespace {

// Frames of one device before the next has its turn.
constexpr int kBatch = 64;

class Line {
 public:
  explicit Line(DelayedLink link) : link_(std::move(link)) {}

  pollfd host_end() const { return {.fd = link_.host_end.get(), .events = POLLIN, .revents = 0}; }
  pollfd port() const { return {.fd = link_.port.get(), .events = POLLIN, .revents = 0}; }

  void pass_on() {
    FrameBuffer buffer;
    for (int i = 0; i < kBatch; ++i) {
      const std::string_view frame = read_frame(link_.port, buffer);
      if (frame.empty()) return;
      write_frame(link_.host_end, frame);
    }
  }

  void take_in(TimePoint due) {
    FrameBuffer buffer;
    for (int i = 0; i < kBatch; ++i) {
      const std::string_view frame = read_frame(link_.host_end, buffer);
      if (frame.empty()) return;
      held_.hold(frame, due);
    }
  }

  void let_go(TimePoint now) { held_.let_go(now, link_.port); }
  std::optional<TimePoint> next_due() const { return held_.next_due(); }

 private:
  DelayedLink link_;
  HeldFrames held_;  // all have the same delay
};

timespec until(TimePoint due, TimePoint now) {
  const Duration left = due > now ? due - now : Duration::zero();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
}

// Until a frame comes or is due.
void wait(std::vector<pollfd>& devices, const std::vector<Line>& lines, const Clock& clock) {
  std::optional<TimePoint> first;
  for (const Line& line : lines) {
    const auto due = line.next_due();
    if (due && (!first || *due < *first)) first = due;
  }
  const timespec patience = first ? until(*first, clock.now()) : timespec{};
  ::ppoll(devices.data(), devices.size(), first ? &patience : nullptr, nullptr);
}

}  // namespace

Status check_taps() {
  const UniqueFd device(::open(kTunFile, O_RDWR | O_CLOEXEC));
  return device ? Status() : system_error("open " + std::string(kTunFile));
}

Result<std::vector<DelayedLink>> make_delayed_links(const LabPlan& plan) {
  std::vector<DelayedLink> links;
  for (int host = 0; host < plan.hosts; ++host) {
    for (int rail = 0; rail < plan.rails(); ++rail) {
      DelayedLink link;
      PACELINE_TRY_ASSIGN(link.host_end, make_tap(lab_tap(host, rail)));
      PACELINE_TRY_ASSIGN(link.port, make_tap(lab_port(host, rail)));
      links.push_back(std::move(link));
    }
  }
  return links;
}

void relay(std::vector<DelayedLink> links, Duration delay, const Clock& clock) {
  ::prctl(PR_SET_NAME, "lab-relay");
  ::prctl(PR_SET_TIMERSLACK, 1);  // nanoseconds; the kernel would be up to 50 us late
  std::vector<Line> lines;
  std::vector<pollfd> devices;  // host's end, port, host's end, …
  for (DelayedLink& link : links) {
    const Line& line = lines.emplace_back(std::move(link));
    devices.insert(devices.end(), {line.host_end(), line.port()});
  }
  for (;;) {
    wait(devices, lines, clock);
    const TimePoint now = clock.now();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i].let_go(now);
      if (devices[2 * i].revents != 0) lines[i].take_in(now + delay);
      if (devices[2 * i + 1].revents != 0) lines[i].pass_on();
    }
  }
}

}  // namespace paceline::launcher
