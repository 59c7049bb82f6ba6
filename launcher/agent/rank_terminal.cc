#include "launcher/agent/rank_terminal.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/pseudo_terminal.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr int kMaxEchoReads = 32;  // more than a terminal holds

WindowSize window_of(const messages::WindowSize& size) {
  return {.rows = static_cast<std::uint16_t>(size.rows()),
          .columns = static_cast<std::uint16_t>(size.columns())};
}

// The user's terminal processes what this one shows, so this one does not. Modes that a program has
// set up for itself are not copied: the kernel's own are for lines.
void set_up(int fd, const messages::Terminal& like) {
  termios modes{};
  if (like.modes().size() != sizeof modes) return;
  std::memcpy(&modes, like.modes().data(), sizeof modes);
  if ((modes.c_lflag & ICANON) == 0) modes = terminal_modes(fd).value_or(modes);
  modes.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  ::tcsetattr(fd, TCSANOW, &modes);
}

}  // namespace

Result<std::unique_ptr<RankTerminal>> RankTerminal::make(EventLoop& loop, Options options,
                                                         UniqueFd& terminal) {
  PACELINE_TRY_ASSIGN(PseudoTerminal pair, open_pseudo_terminal());
  set_up(pair.terminal.get(), options.like);
  set_window_size(pair.terminal.get(), window_of(options.like.size()));
  PACELINE_TRY_ASSIGN(UniqueFd writes, duplicate(pair.controller.get()));
  ::fcntl(pair.controller.get(), F_SETFL, O_RDWR | O_NONBLOCK);  // of both
  terminal = std::move(pair.terminal);
  auto input = InputPipe::over(loop, options.taken, std::move(writes));
  return std::unique_ptr<RankTerminal>(
      new RankTerminal(loop, std::move(options), std::move(pair.controller), std::move(input)));
}

RankTerminal::RankTerminal(EventLoop& loop, Options options, UniqueFd controller,
                           std::unique_ptr<InputPipe> input)
    : loop_(loop),
      options_(std::move(options)),
      controller_(std::move(controller)),
      input_(std::move(input)) {
  set_reading(true);
}

RankTerminal::~RankTerminal() { end(); }

void RankTerminal::end() {
  if (!controller_) return;
  loop_.forget_readable(controller_.get());
  controller_.reset();
  input_->close();
}

void RankTerminal::resize(const messages::WindowSize& size) {
  if (controller_) set_window_size(controller_.get(), window_of(size));
}

void RankTerminal::set_reading(bool on) {
  if (!controller_) return;
  if (on)
    loop_.when_readable(controller_.get(), [this] { read_some(); });
  else
    loop_.forget_readable(controller_.get());
}

void RankTerminal::drain() {
  for (int i = 0; i < kMaxEchoReads && controller_ && read_some(); ++i) {
  }
}

// An error says that the rank has closed its side.
bool RankTerminal::read_some() {
  std::array<char, 4096> bytes;
  const ssize_t got = ::read(controller_.get(), bytes.data(), bytes.size());
  if (got > 0) {
    options_.shows({bytes.data(), static_cast<std::size_t>(got)});
    return true;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  end();
  options_.taken(0, true);
  return false;
}

}  // namespace paceline::launcher
