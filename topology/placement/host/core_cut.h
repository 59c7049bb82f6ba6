// Which CPUs each rank of a host gets.
#pragma once

#include <string>
#include <vector>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// Of a host, each with its hardware threads; guessed from the CPUs' numbers where nobody has told.
std::vector<CpuSet> all_cores(const HostModel& host);
/// How many of `cores` have any of the CPUs.
int count_cores(const std::vector<CpuSet>& cores, const CpuSet& cpus);

/// How many of the cores with any of the CPUs are of each kind: "2 IntelAtom and 1 IntelCore".
/// Empty on a host whose cores are of one kind.
std::string core_kinds_text(const HostModel& host, const CpuSet& cpus);

struct CoreShare {
  CpuSet cpus;
  bool is_shared = false;  ///< with other ranks: there are fewer cores than ranks near enough
  bool is_near = true;     ///< all of them are near what the rank is to be near to
};

/// Whole cores of `allowed` for each rank, near its `places` entry, an empty one being everywhere:
/// as many for each as for the others that are near to the same, or `cores_each` of them where it
/// is not 0. Ranks with fewer cores near them than the others choose first. Where there are fewer
/// cores than ranks, they share. A host whose cores nobody has told has one for each CPU.
std::vector<CoreShare> cut_cores(const HostModel& host, const CpuSet& allowed,
                                 const std::vector<CpuSet>& places, int cores_each);

}  // namespace paceline::topology
