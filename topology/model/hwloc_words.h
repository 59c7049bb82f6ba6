// Words in hwloc's XML that are not hwloc's: its reader and writer here share them, and other
// programs skip them.
#pragma once

namespace paceline::topology {

/// Infos of the machine. hwloc wants a CPU and a NUMA node; the value is the number of one that no
/// source states.
inline constexpr const char* kMadeUpCpu = "PacelineMadeUpCPU";
inline constexpr const char* kMadeUpNode = "PacelineMadeUpNUMANode";

/// Infos of a bridge or device whose position among the objects is not the place that is near to
/// it: lists of CPUs and NUMA nodes, or "unknown".
inline constexpr const char* kNearCpus = "PacelineNearCPUs";
inline constexpr const char* kNearNodes = "PacelineNearNUMANodes";
inline constexpr const char* kNearUnknown = "unknown";

/// hwloc's infos of an element <cpukind>: a name, or a number that Linux gives cores by their
/// speed.
inline constexpr const char* kCoreType = "CoreType";
inline constexpr const char* kLinuxCapacity = "LinuxCapacity";
inline constexpr const char* kCapacityWord = "capacity ";  ///< before the number, in Core::kind

}  // namespace paceline::topology
