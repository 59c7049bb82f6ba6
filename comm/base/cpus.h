// Which CPUs processes may use: their affinity and the quota of their cgroups, not what the machine
// has.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

/// A set of CPUs, by the kernel's numbers. A value.
class CpuSet {
 public:
  /// The affinity of the calling thread; empty where the kernel does not tell.
  static CpuSet affinity();
  /// What to_text() gave. Nothing where it is no such text.
  static std::optional<CpuSet> parse(std::string_view text);

  void add(std::size_t cpu);
  void add(const CpuSet& others);
  int count() const;
  /// One digit for each CPU from 0 to the last: "1101" is 0, 1 and 3.
  std::string to_text() const;

 private:
  std::vector<bool> has_;
};

/// Of `set`, as far as the quota of this process allows; at least 1. A quota counts as the whole
/// CPUs in it: who shares 1.5 CPUs with others cannot afford to spin on the second.
int allowed_cpus(const CpuSet& set = CpuSet::affinity());

/// Moves the calling thread to another CPU of its affinity, which stays as it is. Does nothing
/// where there is no other.
void leave_cpu();
/// Moves it to the CPU of its affinity whose turn it is, counted from 0 and around.
void go_to_cpu(int turn);

}  // namespace paceline
