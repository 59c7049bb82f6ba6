#include "launcher/system/event_loop.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "comm/base/try.h"

namespace paceline::launcher {
namespace {

timespec to_timespec(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
}

}  // namespace

void EventLoop::when_readable(int fd, Handler handler) {
  watched_[{fd, POLLIN}] = std::make_shared<Handler>(std::move(handler));
  changed_ = true;
}

void EventLoop::when_writable(int fd, Handler handler) {
  watched_[{fd, POLLOUT}] = std::make_shared<Handler>(std::move(handler));
  changed_ = true;
}

void EventLoop::forget(Interest interest) {
  if (watched_.erase(interest) > 0) changed_ = true;
}

EventLoop::TimerId EventLoop::at(TimePoint moment, Handler handler) {
  const TimerId id{next_timer_++};
  timers_.emplace(std::pair(moment, id), std::move(handler));
  return id;
}

void EventLoop::cancel(TimerId timer) {
  std::erase_if(timers_, [timer](const auto& entry) { return entry.first.second == timer; });
}

Status EventLoop::run() {
  running_ = true;
  while (running_) {
    call_due_timers();
    if (!running_) break;
    PACELINE_TRY(wait());
    call_ready();
  }
  return Status();
}

void EventLoop::call_due_timers() {
  while (running_ && !timers_.empty() && timers_.begin()->first.first <= clock_.now()) {
    const Handler handler = std::move(timers_.extract(timers_.begin()).mapped());
    handler();
  }
}

Status EventLoop::wait() {
  if (changed_) {
    polled_.assign(watched_.begin(), watched_.end());
    poll_set_.clear();
    for (const auto& [interest, handler] : polled_)
      poll_set_.push_back({.fd = interest.first, .events = interest.second, .revents = 0});
    changed_ = false;
  }
  std::optional<timespec> patience;
  const bool idles = idle_ && !timers_.empty();
  if (idles) {
    patience = timespec{};
  } else if (!timers_.empty()) {
    patience = to_timespec(Deadline::at(timers_.begin()->first.first).left(clock_.now()));
  }
  const int ready =
      ::ppoll(poll_set_.data(), poll_set_.size(), patience ? &*patience : nullptr, nullptr);
  if (ready == 0 && idles) idle_(timers_.begin()->first.first);
  if (ready >= 0) return Status();
  for (pollfd& entry : poll_set_) entry.revents = 0;
  if (errno == EINTR) return Status();
  return Status(Code::kInternal, Scope::kProcess,
                "cannot wait for " + std::to_string(poll_set_.size()) +
                    " descriptors: " + std::strerror(errno));
}

void EventLoop::call_ready() {
  // Handlers change watched_ but not polled_: what an earlier handler of this round has forgotten
  // or replaced is not called.
  for (std::size_t i = 0; i < polled_.size() && running_; ++i) {
    if (poll_set_[i].revents == 0) continue;
    const auto found = watched_.find(polled_[i].first);
    if (found == watched_.end() || found->second != polled_[i].second) continue;
    (*polled_[i].second)();
  }
}

}  // namespace paceline::launcher
