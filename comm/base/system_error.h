// Errors of system calls as text.
#pragma once

#include <string>

namespace paceline {

/// strerror(error). If the process has no file descriptor left, the text also has its limit.
std::string error_text(int error);

}  // namespace paceline
