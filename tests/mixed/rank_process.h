// A process of a world, with one rank or several as its threads.
#pragma once

#include "tests/mixed/board.h"
#include "tests/mixed/world_script.h"

namespace paceline::testing::mixed {

/// What exit() of an ending ends with.
inline constexpr int kExitCode = 7;

/// Runs the ranks of the process, and ends it with 0 unless the script ends it otherwise.
[[noreturn]] void run_process(const WorldScript& script, int process, Board& board);

}  // namespace paceline::testing::mixed
