#include "launcher/system/loop_driver.h"

#include <utility>

namespace paceline::launcher {

LoopDriver::LoopDriver(EventLoop& loop, int fd, std::function<TimePoint()> drive)
    : loop_(loop), fd_(fd), drive_(std::move(drive)) {
  loop_.when_readable(fd_, [this] { this->drive(); });
  this->drive();
}

LoopDriver::~LoopDriver() {
  loop_.forget_readable(fd_);
  if (timer_) loop_.cancel(*timer_);
}

void LoopDriver::drive() {
  if (timer_) loop_.cancel(*std::exchange(timer_, std::nullopt));
  const TimePoint wake = drive_();
  if (wake == TimePoint::max()) return;
  timer_ = loop_.after(Deadline::at(wake).left(loop_.clock().now()), [this] {
    timer_.reset();
    drive();
  });
}

}  // namespace paceline::launcher
