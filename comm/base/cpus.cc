#include "comm/base/cpus.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <sched.h>

#include "comm/base/cgroup.h"

namespace paceline {

namespace {

int cpus_of_affinity() {
  // The kernel refuses a mask that is shorter than its own.
  for (std::size_t sets = 1; sets <= 64; sets *= 2) {
    std::vector<cpu_set_t> mask(sets);
    const std::size_t bytes = sets * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, mask.data()) == 0) return CPU_COUNT_S(bytes, mask.data());
  }
  return 1;
}

}  // namespace

int allowed_cpus() {
  const int cpus = cpus_of_affinity();
  const double quota = cpu_quota();
  return quota < cpus ? std::max(1, static_cast<int>(quota)) : cpus;
}

}  // namespace paceline
