#include "launcher/head/input_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <unistd.h>

namespace paceline::launcher {
namespace {

constexpr std::size_t kWindowBytes = std::size_t{64} << 10;
constexpr Duration kLater = std::chrono::milliseconds(500);

bool is_anothers_terminal(int fd) { return ::isatty(fd) == 1 && ::tcgetpgrp(fd) != ::getpgrp(); }

}  // namespace

InputSource::InputSource(EventLoop& loop, int fd, Send send)
    : loop_(loop), fd_(fd), send_(std::move(send)) {
  read_on();
}

InputSource::~InputSource() {
  loop_.forget_readable(fd_);
  if (later_) loop_.cancel(*later_);
}

void InputSource::taken(std::size_t bytes, bool closed) {
  under_way_bytes_ -= std::min(bytes, under_way_bytes_);
  ended_ |= closed;
  read_on();
}

void InputSource::read_on() {
  if (ended_ || under_way_bytes_ >= kWindowBytes) return loop_.forget_readable(fd_);
  if (!later_) loop_.when_readable(fd_, [this] { read_some(); });
}

void InputSource::read_some() {
  if (is_anothers_terminal(fd_)) {
    loop_.forget_readable(fd_);
    later_ = loop_.after(kLater, [this] {
      later_.reset();
      read_on();
    });
    return;
  }
  std::array<char, kWindowBytes> bytes;
  const ssize_t got = ::read(fd_, bytes.data(), kWindowBytes - under_way_bytes_);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // What cannot be read has no more to give.
  ended_ = got <= 0;
  const auto count = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  under_way_bytes_ += count;
  read_on();
  send_({bytes.data(), count}, ended_);
}

}  // namespace paceline::launcher
