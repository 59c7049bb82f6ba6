// Which CPUs a process runs on, and whose memory it takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "comm/base/cpu_set.h"

namespace paceline::launcher {

/// What is asked for. Made before a fork, so that apply() allocates nothing.
class Binding {
 public:
  /// No CPUs, or no nodes: that part stays as it is.
  Binding(const CpuSet& cpus, const std::vector<int>& memory_nodes);

  /// Of the calling thread, and of what it executes and forks. Memory comes from the nodes as long
  /// as they have some, then from others: a rank that is too large is slow, and not killed. What
  /// the kernel refuses stays as it was: bound_to() tells what is.
  void apply() const;

 private:
  void prefer_nodes() const;

  std::vector<unsigned long> cpus_;  // as the kernel has masks
  std::vector<unsigned long> nodes_;
};

/// What is, by the kernel's account.
struct BoundTo {
  CpuSet cpus;
  std::string memory;  ///< as /proc/PID/numa_maps says: "default", "prefer (many):0-1"

  bool operator==(const BoundTo&) const = default;
};

/// Of a process of this user; nothing where it has gone, or has only to be waited for. Memory is
/// empty where the kernel has no NUMA.
std::optional<BoundTo> bound_to(pid_t pid);

/// The nodes in BoundTo::memory that memory is taken from first; empty: from where it runs.
CpuSet preferred_nodes(const std::string& memory);

}  // namespace paceline::launcher
