#include "launcher/head/input_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <unistd.h>

namespace paceline::launcher {
namespace {

constexpr std::size_t kWindowBytes = std::size_t{64} << 10;
// A shell does not tell a job that it is in the foreground again.
constexpr Duration kLater = std::chrono::milliseconds(200);

}  // namespace

InputSource::InputSource(EventLoop& loop, int fd, Send send)
    : loop_(loop), fd_(fd), send_(std::move(send)) {
  if (::isatty(fd) == 1) terminal_.emplace(fd);
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

void InputSource::pause() {
  paused_ = true;
  loop_.forget_readable(fd_);
  if (terminal_) terminal_->give_back();
}

void InputSource::resume() {
  paused_ = false;
  read_on();
}

void InputSource::tell_window_size() {
  messages::ToAgent message;
  *message.mutable_window_size() = window_size_at(fd_);
  send_(message);
}

void InputSource::read_on() {
  if (ended_) terminal_.reset();
  if (ended_ || paused_ || under_way_bytes_ >= kWindowBytes) return loop_.forget_readable(fd_);
  if (!terminal_ || terminal_->take()) {
    if (send_typed_ahead()) return read_on();  // the window may be full now
    return loop_.when_readable(fd_, [this] { read_some(); });
  }
  loop_.forget_readable(fd_);
  if (later_) return;
  later_ = loop_.after(kLater, [this] {
    later_.reset();
    read_on();
  });
}

bool InputSource::send_typed_ahead() {
  std::string text = terminal_ ? terminal_->typed_ahead() : "";
  if (text.empty()) return false;
  send_on(std::move(text));
  return true;
}

void InputSource::send_on(std::string text) {
  under_way_bytes_ += text.size();
  messages::ToAgent message;
  message.mutable_input()->set_text(std::move(text));
  message.mutable_input()->set_ends(ended_);
  send_(message);
}

void InputSource::read_some() {
  // take() may have read the bytes that made the terminal readable.
  if (terminal_ && (!terminal_->take() || send_typed_ahead())) return read_on();
  std::array<char, kWindowBytes> bytes;
  const ssize_t got = ::read(fd_, bytes.data(), kWindowBytes - under_way_bytes_);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // Another process group has come to the foreground meanwhile.
  if (got < 0 && errno == EIO && terminal_ && !terminal_->take()) return read_on();
  if (got == 0 && terminal_ && !terminal_->has_hung_up()) return;
  // What cannot be read has no more to give.
  ended_ = got <= 0;
  send_on({bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))});
  read_on();
}

}  // namespace paceline::launcher
