#include "comm/base/descriptors.h"

#include <cerrno>
#include <filesystem>

#include <sys/resource.h>

namespace paceline {

bool lacks_descriptors(int error) { return error == EMFILE || error == ENFILE; }

Descriptors descriptors() {
  Descriptors counted;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) counted.limit = limit.rlim_cur;
  std::error_code error;
  for (auto one = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && one != std::filesystem::directory_iterator(); one.increment(error))
    ++counted.used;
  // To open the folder needs a descriptor, and none is left.
  if (lacks_descriptors(error.value())) counted.used = counted.limit;
  return counted;
}

}  // namespace paceline
