#include "comm/base/cpus.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <sched.h>

#include "comm/base/cgroup.h"

namespace paceline {
namespace {

using CpuMask = std::vector<cpu_set_t>;

std::size_t bytes_of(const CpuMask& mask) { return mask.size() * sizeof(cpu_set_t); }

int count_of(const CpuMask& mask) { return CPU_COUNT_S(bytes_of(mask), mask.data()); }

// Of the calling thread; empty where the kernel does not tell.
CpuMask affinity() {
  // The kernel refuses a mask that is shorter than its own.
  for (std::size_t sets = 1; sets <= 64; sets *= 2) {
    CpuMask mask(sets);
    if (::sched_getaffinity(0, bytes_of(mask), mask.data()) == 0) return mask;
  }
  return {};
}

}  // namespace

int affinity_cpus() {
  const CpuMask mask = affinity();
  return mask.empty() ? 1 : count_of(mask);
}

int allowed_cpus() {
  const int cpus = affinity_cpus();
  const double quota = cpu_quota();
  return quota < cpus ? std::max(1, static_cast<int>(quota)) : cpus;
}

void leave_cpu() {
  const CpuMask mask = affinity();
  const int cpu = ::sched_getcpu();
  if (mask.empty() || cpu < 0) return;
  CpuMask others = mask;
  CPU_CLR_S(static_cast<std::size_t>(cpu), bytes_of(others), others.data());
  if (count_of(others) == 0) return;
  if (::sched_setaffinity(0, bytes_of(others), others.data()) == 0)
    ::sched_setaffinity(0, bytes_of(mask), mask.data());
}

}  // namespace paceline
