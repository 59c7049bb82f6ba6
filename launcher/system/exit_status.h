// How a process ended, and the exit codes of `paceline`. Pure.
#pragma once

#include <string>

namespace paceline::launcher {

inline constexpr int kExitTimeout = 124;
inline constexpr int kExitLauncher = 125;
inline constexpr int kExitCannotExecute = 126;
inline constexpr int kExitNotFound = 127;

/// `wait_status` is as waitpid gives it.
bool succeeded(int wait_status);
/// The exit code, or 128 + signal.
int exit_code_of(int wait_status);
/// "exited with code 3", "was killed by signal 11 (Segmentation fault)".
std::string describe(int wait_status);

}  // namespace paceline::launcher
