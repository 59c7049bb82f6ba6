#include "launcher/head/user_terminal.h"

#include <array>
#include <cerrno>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "launcher/system/pseudo_terminal.h"
#include "launcher/system/signal_source.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kLongestLine = 4096;  // of a Linux terminal; it keeps no more

// A read of a terminal that has nothing returns 0 then, as poll() may find something that a key
// that signals discards before it is read.
termios byte_by_byte(termios modes) {
  modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  modes.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IGNCR | ISTRIP);
  modes.c_cc[VMIN] = 0;
  modes.c_cc[VTIME] = 0;
  return modes;
}

bool reads_alike(const termios& a, const termios& b) {
  return a.c_lflag == b.c_lflag && a.c_iflag == b.c_iflag;
}

}  // namespace

std::optional<messages::Terminal> terminal_at(int fd) {
  const std::optional<termios> modes = terminal_modes(fd);
  if (!modes) return std::nullopt;
  messages::Terminal terminal;
  terminal.set_modes(&*modes, sizeof *modes);
  *terminal.mutable_size() = window_size_at(fd);
  return terminal;
}

messages::WindowSize window_size_at(int fd) {
  const WindowSize window = window_size(fd);
  messages::WindowSize size;
  size.set_rows(window.rows);
  size.set_columns(window.columns);
  return size;
}

UserTerminal::UserTerminal(int fd) : fd_(fd) { block_signals({SIGTTIN, SIGTTOU}); }

// Without a process group to compare this process may read. ENOTTY: the terminal belongs to another
// session. EIO: it has hung up, and a read says so.
bool UserTerminal::in_foreground() const {
  const pid_t group = ::tcgetpgrp(fd_);
  return group < 0 ? errno == ENOTTY || errno == EIO : group == ::getpgrp();
}

bool UserTerminal::is_as_set_up(const termios& now) const {
  return found_ && reads_alike(now, byte_by_byte(*found_));
}

bool UserTerminal::take() {
  if (!in_foreground()) {
    found_.reset();  // the shell has restored the modes
    return false;
  }
  const std::optional<termios> now = terminal_modes(fd_);
  if (!now) return true;  // it has hung up: a read says so
  if (is_as_set_up(*now)) return true;
  if ((now->c_lflag & ICANON) == 0) return false;
  const termios wanted = byte_by_byte(*now);
  if (::tcsetattr(fd_, TCSANOW, &wanted) != 0) return false;
  found_ = now;
  read_typed_ahead(*now);
  return true;
}

// The terminal has turned the end of an input into a NUL byte.
void UserTerminal::read_typed_ahead(const termios& modes) {
  std::array<char, kLongestLine> bytes;
  const ssize_t got = ::read(fd_, bytes.data(), bytes.size());
  for (ssize_t i = 0; i < got; ++i) {
    const char byte = bytes[static_cast<std::size_t>(i)];
    typed_ahead_ += byte != '\0' ? byte : static_cast<char>(modes.c_cc[VEOF]);
  }
}

bool UserTerminal::has_hung_up() const {
  pollfd polled{.fd = fd_, .events = 0, .revents = 0};
  return ::poll(&polled, 1, 0) > 0;
}

void UserTerminal::give_back() {
  const std::optional<termios> now = terminal_modes(fd_);
  if (now && is_as_set_up(*now) && in_foreground()) ::tcsetattr(fd_, TCSANOW, &*found_);
  found_.reset();
}

}  // namespace paceline::launcher
