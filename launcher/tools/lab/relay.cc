#include "launcher/tools/lab/relay.h"

#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr const char* kTun = "/dev/net/tun";
constexpr std::size_t kMaxFrame = 1600;  // a full one of kLabMtu, with a tag
constexpr std::size_t kMaxHeld = 64u << 20;
// Frames of one device before the next has its turn.
constexpr int kBatch = 64;

Result<UniqueFd> make_tap(const std::string& name) {
  UniqueFd tap(::open(kTun, O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!tap) return system_error("open " + std::string(kTun));
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (::ioctl(tap.get(), TUNSETIFF, &request) != 0) return system_error("make the device " + name);
  return tap;
}

// The bytes of a frame that has come; 0: there is none.
std::size_t read_frame(const UniqueFd& device, std::array<char, kMaxFrame>& frame) {
  const ssize_t got = ::read(device.get(), frame.data(), frame.size());
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

// A device that is down, or whose queue is full, loses it, as a wire does.
void write_frame(const UniqueFd& device, const char* bytes, std::size_t size) {
  [[maybe_unused]] const ssize_t written = ::write(device.get(), bytes, size);
}

class Line {
 public:
  explicit Line(DelayedLink link) : link_(std::move(link)) {}

  pollfd host_end() const { return {.fd = link_.host_end.get(), .events = POLLIN, .revents = 0}; }
  pollfd port() const { return {.fd = link_.port.get(), .events = POLLIN, .revents = 0}; }

  void pass_on() {
    std::array<char, kMaxFrame> frame;
    for (int i = 0; i < kBatch; ++i) {
      const std::size_t size = read_frame(link_.port, frame);
      if (size == 0) return;
      write_frame(link_.host_end, frame.data(), size);
    }
  }

  void take_in(TimePoint due) {
    std::array<char, kMaxFrame> frame;
    for (int i = 0; i < kBatch; ++i) {
      const std::size_t size = read_frame(link_.host_end, frame);
      if (size == 0) return;
      if (held_bytes_ + size > kMaxHeld) continue;
      held_bytes_ += size;
      held_.push_back({.due = due, .bytes = std::string(frame.data(), size)});
    }
  }

  // All have the same delay, so they leave in the order in which they came.
  void let_go(TimePoint now) {
    while (!held_.empty() && held_.front().due <= now) {
      const std::string& bytes = held_.front().bytes;
      write_frame(link_.port, bytes.data(), bytes.size());
      held_bytes_ -= bytes.size();
      held_.pop_front();
    }
  }

  std::optional<TimePoint> next_due() const {
    return held_.empty() ? std::nullopt : std::optional(held_.front().due);
  }

 private:
  struct Held {
    TimePoint due;
    std::string bytes;
  };

  DelayedLink link_;
  std::deque<Held> held_;
  std::size_t held_bytes_ = 0;
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
  const UniqueFd device(::open(kTun, O_RDWR | O_CLOEXEC));
  return device ? Status() : system_error("open " + std::string(kTun));
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
