#include "comm/base/system_error.h"

#include <cerrno>
#include <cstring>

#include "comm/base/descriptors.h"

namespace paceline {

std::string error_text(int error) {
  std::string text = std::strerror(error);
  if (error == EMFILE)
    text += "; the limit of this process is " + std::to_string(descriptor_limit()) + " (ulimit -n)";
  return text;
}

}  // namespace paceline
