#include "launcher/system/pseudo_terminal.h"

#include <cstdlib>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "launcher/system/system.h"

namespace paceline::launcher {

Result<PseudoTerminal> open_pseudo_terminal() {
  PseudoTerminal pair;
  pair.controller = UniqueFd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!pair.controller || ::grantpt(pair.controller.get()) != 0 ||
      ::unlockpt(pair.controller.get()) != 0)
    return system_error("open a pseudo-terminal");
  pair.terminal =
      UniqueFd(::ioctl(pair.controller.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!pair.terminal) return system_error("open a pseudo-terminal");
  return pair;
}

std::optional<termios> terminal_modes(int fd) {
  termios modes{};
  if (::tcgetattr(fd, &modes) != 0) return std::nullopt;
  return modes;
}

WindowSize window_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return {};
  return {.rows = size.ws_row, .columns = size.ws_col};
}

void set_window_size(int fd, WindowSize window) {
  winsize size{};
  size.ws_row = window.rows;
  size.ws_col = window.columns;
  ::ioctl(fd, TIOCSWINSZ, &size);
}

}  // namespace paceline::launcher
