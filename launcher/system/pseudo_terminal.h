// Terminals of a user, and pseudo-terminals for programs: pty(7), termios(3).
#pragma once

#include <cstdint>
#include <optional>

#include <termios.h>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"

namespace paceline::launcher {

struct WindowSize {
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;

  bool operator==(const WindowSize&) const = default;
};

/// What is written to `controller` is the input of programs that read `terminal`, and what these
/// write is read there, with the echo. It is the controlling terminal of no session.
struct PseudoTerminal {
  UniqueFd controller;
  UniqueFd terminal;
};

Result<PseudoTerminal> open_pseudo_terminal();

/// None where `fd` is not a terminal.
std::optional<termios> terminal_modes(int fd);
WindowSize window_size(int fd);
void set_window_size(int fd, WindowSize size);

}  // namespace paceline::launcher
