// Child processes, run to their ends: their lines as they come, and an end to their silence.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"

namespace paceline::launcher {

struct CapturedProgram {
  using Words = std::vector<std::string>;
  using Body = std::function<int()>;

  /// A program, sought in PATH, and its arguments; or what the forked child calls instead. It
  /// returns the exit code. Output that it leaves in buffers of the C library is lost.
  std::variant<Words, Body> runs;
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to this one's
  bool shows_errors = false;  ///< its standard error is this process's; else it is kept
  bool listens = false;       ///< it is told lines on its standard input; else that is empty
};

struct CapturedEnd {
  std::optional<int> wait_status;  ///< none: it did not end, and was killed or never started
  std::string errors;              ///< the end of what it said on standard error
};

/// What one of them is told.
struct CapturedWord {
  std::size_t whom = 0;  ///< one that listens, and has been started
  std::string line;      ///< without its newline; short enough for a socket to hold
};

/// What is made of a line.
struct CapturedAnswer {
  Duration silence;          ///< how long all may be silent from then on
  bool starts_next = false;  ///< the program behind this one may start
  std::optional<CapturedWord> tells = std::nullopt;
};
/// Called with the number of a program and every whole line of its standard output (at most 4 KiB
/// of it).
using OnCapturedLine = std::function<CapturedAnswer(std::size_t which, const std::string& line)>;

/// Starts the first, and each other one when it may start. Runs them until all have ended, one has
/// failed, or all were silent for too long; those that are left are killed then. All their
/// processes have gone when this returns: adopt_orphans() must have been called, and this process
/// may have no other child. One thread.
Result<std::vector<CapturedEnd>> run_captured(std::span<const CapturedProgram> programs,
                                              Duration silence, const OnCapturedLine& line);

}  // namespace paceline::launcher
