#include "launcher/system/descriptors.h"

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

std::vector<int> open_descriptors(int first, int last) {
  std::vector<int> found;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", ignored), end; entry != end;
       entry.increment(ignored)) {
    const int fd = std::atoi(entry->path().filename().c_str());
    if (fd >= first && fd <= last) found.push_back(fd);
  }
  return found;
}

}  // namespace

void close_on_exec_from(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0u, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (const int fd : open_descriptors(first, INT_MAX)) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// The list contains the descriptor of the listing itself, which is closed already.
void close_descriptors(int first, int last) {
  if (::close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0) == 0) return;
  for (const int fd : open_descriptors(first, last)) ::close(fd);
}

void close_all_but(int descriptor) {
  const int first = STDERR_FILENO + 1;
  if (descriptor > first) close_descriptors(first, descriptor - 1);
  close_descriptors(descriptor + 1, INT_MAX);
}

void close_as_exec() {
  for (const int fd : open_descriptors(0, INT_MAX)) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags != -1 && (flags & FD_CLOEXEC) != 0) ::close(fd);
  }
}

}  // namespace paceline::launcher
