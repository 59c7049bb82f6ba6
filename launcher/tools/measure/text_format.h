// Text by printf's formats, which the compiler checks.
#pragma once

#include <string>

namespace paceline::launcher {

/// All of it, however long it is.
__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...);

}  // namespace paceline::launcher
