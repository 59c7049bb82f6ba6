#include "comm/base/random.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <sys/random.h>

namespace paceline {

Status fill_system_random(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Status(
          Code::kUnavailable, Scope::kProcess,
          std::string("cannot get random bytes from the kernel: ") + std::strerror(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

}  // namespace paceline
