#include "comm/base/read_file.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "comm/base/unique_fd.h"

namespace paceline {

std::string read_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return "";
  std::string text;
  for (;;) {
    char bytes[4096];
    const ssize_t got = ::read(file.get(), bytes, sizeof bytes);
    if (got == 0) return text;
    if (got > 0) text.append(bytes, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return "";
  }
}

}  // namespace paceline
