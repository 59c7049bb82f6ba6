// Text by printf's formats, which the compiler checks.
#pragma once

#include <string>

namespace paceline::launcher {

/// The whole text, of any length.
__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...);

}  // namespace paceline::launcher
