// A machine like those that people train on: 2 packages with 2 NUMA nodes each, and on each node a
// host bridge with 2 switches; on each switch a GPU and a NIC. NVLink between all GPUs.
#pragma once

#include <string>
#include <utility>

#include "tests/unit/topology/small_host.h"
#include "topology/model/finish.h"

namespace paceline::topology {

inline void add_cores(HostModel& host, std::size_t first_cpu, std::size_t cores) {
  constexpr std::size_t kSecondThreads = 64;
  CpuSet all;
  for (std::size_t i = 0; i < cores; ++i) {
    Core core;
    for (const std::size_t cpu : {first_cpu + i, first_cpu + i + kSecondThreads})
      core.cpus.add(cpu);
    all.add(core.cpus);
    host.cores.push_back(std::move(core));
    if ((i + 1) % 8 != 0) continue;
    host.caches.push_back({.cpus = std::exchange(all, {}), .bytes = 32 << 20});
  }
}

inline void add_switch(HostModel& host, int host_bridge, int number) {
  constexpr std::uint64_t kMbPerS = 63015;
  const auto bus = [&](int offset) {
    return known(BusId{.bus = static_cast<std::uint8_t>(16 * (number + 1) + offset)});
  };
  const PciFunction below{.bridge = static_cast<int>(host.bridges.size()),
                          .mb_per_s = known(kMbPerS)};
  host.bridges.push_back({.kind = BridgeKind::kSwitch,
                          .bus = bus(1),
                          .parent = host_bridge,
                          .mb_per_s = known(kMbPerS)});
  const std::string name = "cuda" + std::to_string(number);
  Gpu gpu{.number = number,
          .name = name,
          .names = {name, "nvml" + std::to_string(number)},
          .pci = below,
          .model = known(std::string("NVIDIA H100 80GB HBM3")),
          .memory_bytes = known(std::uint64_t{80} << 30)};
  gpu.pci.bus = bus(3);
  gpu.pci.vendor = 0x10de;
  host.gpus.push_back(std::move(gpu));
  Nic nic{.name = "mlx5_" + std::to_string(number),
          .interfaces = {"ib" + std::to_string(number)},
          .kind = NicKind::kInfiniband,
          .has_rdma = true,
          .pci = below,
          .rate_mbit = known(std::uint64_t{400000})};
  nic.pci.bus = bus(4);
  nic.pci.vendor = 0x15b3;
  host.nics.push_back(std::move(nic));
}

inline HostModel eight_gpu_host() {
  HostModel host{.name = "eight",
                 .product = "A server",
                 .architecture = "x86_64",
                 .sources = {"sysfs", "hwloc XML eight.xml"}};
  for (int i = 0; i < 4; ++i) {
    const int cpu = 16 * i;
    const std::string cpus = std::to_string(cpu) + "-" + std::to_string(cpu + 15) + "," +
                             std::to_string(cpu + 64) + "-" + std::to_string(cpu + 79);
    const Place place = place_of(cpus.c_str(), i);
    add_cores(host, static_cast<std::size_t>(cpu), 16);
    host.numa_nodes.push_back(
        {.number = i, .cpus = place.cpus, .memory_bytes = std::uint64_t{256} << 30});
    if (i % 2 == 0) host.packages.push_back({.number = i / 2, .cpu_model = "A CPU with 32 cores"});
    host.packages.back().cpus.add(place.cpus);
    const auto bridge = static_cast<int>(host.bridges.size());
    host.bridges.push_back({.near = known(place)});
    for (const int number : {2 * i, 2 * i + 1}) add_switch(host, bridge, number);
  }
  for (int a = 0; a < 8; ++a)
    for (int b = a + 1; b < 8; ++b) host.links.push_back({.gpu = a, .peer = b, .count = 18});
  return finish(std::move(host), 0).value();
}

}  // namespace paceline::topology
