// The units of a host that ranks are mapped and bound to, as far as they may be used.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "topology/model/host_model.h"
#include "topology/placement/rules/mapping.h"

namespace paceline::topology {

/// "core", "package".
std::string_view word_of(Unit unit);

class HostUnits {
 public:
  /// `host` outlives it. Only CPUs that are `allowed` and that the host may use are in any unit.
  HostUnits(const HostModel& host, const CpuSet& allowed);

  const CpuSet& cpus() const { return allowed_; }

  /// Those of one kind, which have no CPU in common and none of which is empty, in the order in
  /// which one meets them going through the machine: a package after the other, in it a NUMA node
  /// after the other, then caches, then cores. None where nobody has told them; but L1 and L2 are a
  /// core's own where a cache further out is the last one, or no cache is known.
  std::vector<CpuSet> of(Unit unit) const;

  /// Which of `sets` has a CPU, by the CPU's place among cpus(); kNone: none of them. Of sets with
  /// common CPUs the first.
  using Owners = std::vector<int>;
  Owners owners(const std::vector<CpuSet>& sets) const;
  /// Which of them have any of `cpus`: places, ascending.
  std::vector<int> touched(const Owners& owners, const CpuSet& cpus) const;

  /// Cores, or hardware threads, that `cpus` have a part of.
  int count(Unit core_or_hwthread, const CpuSet& cpus) const;

  /// For people: "NUMA node 1", "CPUs 4-7".
  std::string text(Unit unit, const CpuSet& cpus) const;

 private:
  std::vector<CpuSet> told(Unit unit) const;
  std::vector<CpuSet> caches_of(int level) const;
  std::vector<std::size_t> walk() const;
  std::vector<CpuSet> in_order(const std::vector<CpuSet>& sets) const;

  const HostModel* host_;
  CpuSet allowed_;
  std::vector<std::size_t> numbers_;  // of the CPUs, ascending
  std::vector<CpuSet> cores_;
  Owners core_of_;
  std::vector<std::size_t> walk_;  // places in numbers_, as one meets them
};

}  // namespace paceline::topology
