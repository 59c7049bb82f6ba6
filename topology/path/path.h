// What lies between two places of a host: how near, how fast, how late. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// A value. Bandwidth each way, of one stream of bytes alone on it.
struct Path {
  PathKind kind = PathKind::kSys;
  std::uint64_t mb_per_s = 0;  ///< of its narrowest part
  double latency_us = 0;       ///< an estimate, of a small message one way
  int links = 0;               ///< of kNvl: side by side; 0: nobody said
  std::string narrowest;       ///< for people: "the link of 0000:c1:00.0"
  bool is_estimate = false;    ///< the bandwidth: no source states it

  bool operator==(const Path&) const = default;
};

/// What the links carry each way, all together: what a source states, or else an estimate.
std::uint64_t link_mb_per_s(const GpuLink& link);
/// What a source has stated counts more than what follows from PCIe. References are valid.
Path path_between(const HostModel& host, DeviceRef a, DeviceRef b);
/// From a device to the memory of a NUMA node, by the node's number.
Path path_to_node(const HostModel& host, DeviceRef device, int node);
/// From the CPUs of a NUMA node to the memory of another.
Path path_between_nodes(const HostModel& host, int a, int b);

}  // namespace paceline::topology
