#include "comm/base/descriptors.h"

#include <cerrno>

#include <sys/resource.h>

namespace paceline {

bool lacks_descriptors(int error) { return error == EMFILE || error == ENFILE; }

std::uint64_t descriptor_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace paceline
