#include "launcher/tools/measure/text_format.h"

#include <cstdarg>
#include <cstddef>
#include <cstdio>

namespace paceline::launcher {

std::string text(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string made(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  std::vsnprintf(made.data(), made.size() + 1, format, again);
  va_end(again);
  return made;
}

}  // namespace paceline::launcher
