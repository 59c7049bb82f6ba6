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
CpuMask affinity_mask() {
  // The kernel refuses a mask that is shorter than its own.
  for (std::size_t sets = 1; sets <= 64; sets *= 2) {
    CpuMask mask(sets);
    if (::sched_getaffinity(0, bytes_of(mask), mask.data()) == 0) return mask;
  }
  return {};
}

// The kernel moves the thread at once, and leaves it there.
void pass_through(const CpuMask& some, const CpuMask& all) {
  if (count_of(some) == 0) return;
  if (::sched_setaffinity(0, bytes_of(some), some.data()) == 0)
    ::sched_setaffinity(0, bytes_of(all), all.data());
}

}  // namespace

CpuSet affinity() {
  const CpuMask mask = affinity_mask();
  CpuSet set;
  for (std::size_t cpu = 0; cpu < 8 * bytes_of(mask); ++cpu)
    if (CPU_ISSET_S(cpu, bytes_of(mask), mask.data())) set.add(cpu);
  return set;
}

CpuSet host_cpus(const Environment& environment) {
  return environment.host_cpus.is_empty() ? affinity() : environment.host_cpus;
}

int allowed_cpus(const CpuSet& set) {
  const int cpus = std::max(1, set.count());
  const double quota = cpu_quota();
  return quota < cpus ? std::max(1, static_cast<int>(quota)) : cpus;
}

void leave_cpu() {
  const CpuMask mask = affinity_mask();
  const int cpu = ::sched_getcpu();
  if (mask.empty() || cpu < 0) return;
  CpuMask others = mask;
  CPU_CLR_S(static_cast<std::size_t>(cpu), bytes_of(others), others.data());
  pass_through(others, mask);
}

void go_to_cpu(int turn) {
  const CpuMask mask = affinity_mask();
  if (mask.empty()) return;
  CpuMask chosen(mask.size());
  int before = turn % count_of(mask);
  for (std::size_t cpu = 0; before >= 0; ++cpu) {
    if (!CPU_ISSET_S(cpu, bytes_of(mask), mask.data())) continue;
    if (before-- == 0) CPU_SET_S(cpu, bytes_of(chosen), chosen.data());
  }
  pass_through(chosen, mask);
}

}  // namespace paceline
