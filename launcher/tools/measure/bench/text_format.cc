#include "launcher/tools/measure/bench/text_format.h"

#include <array>
#include <cstdarg>
#include <cstdio>

namespace paceline::launcher {

std::string text(const char* format, ...) {
  std::array<char, 512> line{};
  va_list values;
  va_start(values, format);
  std::vsnprintf(line.data(), line.size(), format, values);
  va_end(values);
  return line.data();
}

}  // namespace paceline::launcher
