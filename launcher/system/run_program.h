// A program of the system that does one small thing: it ends soon, and all that matters is whether
// it could, and what it says where it could not.
#pragma once

#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"

namespace paceline::launcher {

/// Runs `words`, the first of which is a path, with `input` as standard input; what it writes is
/// thrown away. An error has the program's name and the first line of its complaint. One that has
/// not ended after `patience` is killed: kTimeout. This process must not ignore SIGCHLD.
Status run_program(const std::vector<std::string>& words, const std::string& input,
                   Duration patience);

}  // namespace paceline::launcher
