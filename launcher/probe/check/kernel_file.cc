#include "launcher/probe/check/kernel_file.h"

#include <array>
#include <cstddef>

#include <fcntl.h>
#include <unistd.h>

#include "comm/base/unique_fd.h"

namespace paceline::probe {

std::string read_kernel_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return "";
  std::string text;
  std::array<char, 16384> bytes;
  for (;;) {
    const ssize_t got = ::read(fd.get(), bytes.data(), bytes.size());
    if (got < 0) return "";
    if (got == 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace paceline::probe
