// The user's terminal, while its input goes to a rank.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <termios.h>

#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// As it is before anything here has changed it. None where `fd` is not a terminal.
std::optional<messages::Terminal> terminal_at(int fd);
messages::WindowSize window_size_at(int fd);

/// The rank has a pseudo-terminal, which echoes, edits lines and finds the end of the input. So the
/// user's terminal passes on each byte as it is typed. Keys that signal (Ctrl-C, Ctrl-\, Ctrl-Z)
/// still signal the foreground process group of the terminal.
///
/// The terminal belongs to the process group in the foreground. It is left alone while that is
/// another one, and while a program such as a pager has set it up for itself. Belongs to one
/// thread.
class UserTerminal {
 public:
  /// Borrows `fd`. Blocks SIGTTIN and SIGTTOU: a read from the background fails (EIO) then, and a
  /// change of the modes does not stop this process.
  explicit UserTerminal(int fd);
  ~UserTerminal() { give_back(); }
  UserTerminal(const UserTerminal&) = delete;
  UserTerminal& operator=(const UserTerminal&) = delete;

  /// Sets up the terminal if it is free and has not been set up. True: it may be read now, after
  /// typed_ahead().
  bool take();
  /// What was typed before take() set it up, once. An end of the input is in it as the key that
  /// ends it.
  std::string typed_ahead() { return std::exchange(typed_ahead_, {}); }
  /// A read that got nothing has found its end; else there was nothing to read. Reads do not wait.
  bool has_hung_up() const;
  /// Restores its modes, unless another program has set it up since.
  void give_back();

 private:
  bool in_foreground() const;
  bool is_as_set_up(const termios& now) const;
  void read_typed_ahead(const termios& modes);

  const int fd_;
  std::optional<termios> found_;  // its modes before take(); none: not taken
  std::string typed_ahead_;
};

}  // namespace paceline::launcher
