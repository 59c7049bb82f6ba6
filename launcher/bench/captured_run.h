// Another program, run to its end: its lines as they come, and an end to its silence.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"

namespace paceline::launcher {

struct CapturedProgram {
  std::vector<std::string> words;  ///< the program, sought in PATH, and its arguments
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to this one's
  bool shows_errors = false;  ///< its standard error is this process's; else it is kept
};

struct CapturedEnd {
  std::optional<int> wait_status;  ///< none: it was silent for too long, and was killed
  std::string errors;              ///< the end of what it said on standard error
};

/// Runs it; its standard input is empty. `line` is called with every whole line of its standard
/// output (at most 4 KiB of it) and returns how long it may be silent from then on. All its
/// processes have gone when this returns: adopt_orphans() must have been called, and this process
/// may have no other child. One thread.
Result<CapturedEnd> run_captured(const CapturedProgram& program, Duration silence,
                                 const std::function<Duration(const std::string&)>& line);

}  // namespace paceline::launcher
