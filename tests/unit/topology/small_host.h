// A machine that is small enough to be known by heart: 2 packages with a NUMA node and 4 CPUs each.
// On the first a switch with GPU 0, GPU 1 and mlx5_0; on the second GPU 2 below a root port of its
// own and mlx5_1 below another host bridge. NVLink between GPU 0 and GPU 1.
#pragma once

#include "topology/model/host_model.h"

namespace paceline::topology {

inline Place place_of(const char* cpus, int node) {
  return {.cpus = CpuSet::parse(cpus).value(), .numa_nodes = {node}};
}

inline HostModel small_host() {
  HostModel host{.name = "small", .sources = {"a test"}};
  for (int i = 0; i < 2; ++i) {
    const CpuSet cpus = CpuSet::parse(i == 0 ? "0-3" : "4-7").value();
    host.packages.push_back({.number = i, .cpus = cpus});
    host.numa_nodes.push_back({.number = i, .cpus = cpus, .memory_bytes = 64});
  }
  for (std::size_t cpu = 0; cpu < 8; ++cpu) {
    host.cores.emplace_back();
    host.cores.back().cpus.add(cpu);
  }
  constexpr std::uint64_t kWide = 31508, kNarrow = 15754;
  host.bridges = {
      {.near = known(place_of("0-3", 0))},
      {.kind = BridgeKind::kSwitch,
       .bus = known(BusId{.bus = 2}),
       .parent = 0,
       .mb_per_s = known(kNarrow)},
      {.near = known(place_of("4-7", 1))},
      {.near = known(place_of("4-7", 1))},
  };
  for (int i = 0; i < 3; ++i) {
    const int bridge = i < 2 ? 1 : 2;
    const BusId bus{.bus = static_cast<std::uint8_t>(3 + i)};
    const std::string name = "cuda" + std::to_string(i);
    host.gpus.push_back(
        {.number = i,
         .name = name,
         .names = {name},
         .pci = {.bus = known(bus), .vendor = 0x10de, .bridge = bridge, .mb_per_s = known(kWide)}});
  }
  for (int i = 0; i < 2; ++i) {
    const BusId bus{.bus = static_cast<std::uint8_t>(8 + i)};
    host.nics.push_back({.name = "mlx5_" + std::to_string(i),
                         .kind = NicKind::kInfiniband,
                         .has_rdma = true,
                         .pci = {.bus = known(bus),
                                 .vendor = 0x15b3,
                                 .bridge = i == 0 ? 1 : 3,
                                 .mb_per_s = known(kWide)},
                         .rate_mbit = known(std::uint64_t{200000})});
  }
  host.links = {{.gpu = 1, .peer = 0, .count = 4}};
  return host;
}

}  // namespace paceline::topology
