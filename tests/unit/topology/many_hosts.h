// Machines of many shapes, for what must hold of the text and the drawing of any.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/topology/eight_gpu_host.h"
#include "tests/unit/topology/small_host.h"
#include "topology/model/finish.h"

namespace paceline::topology {

/// What a matrix tells: GPUs and NICs with paths between them, CPUs without cores, no PCIe.
inline HostModel matrix_host() {
  HostModel host{.sources = {"matrix m.txt"}};
  const CpuSet cpus = CpuSet::parse("0-7").value();
  host.numa_nodes = {{.number = 1, .cpus = cpus}};
  for (int i = 0; i < 3; ++i) {
    const std::string name = "GPU" + std::to_string(i);
    host.gpus.push_back({.number = i, .name = name, .names = {name}});
    if (i < 2) host.gpus.back().near = known(place_of("0-7", 1));
  }
  host.nics.push_back({.name = "mlx5_0", .has_rdma = true});
  const DeviceRef nic{DeviceKind::kNic, 0};
  for (int a = 0; a < 3; ++a) {
    for (int b = a + 1; b < 3; ++b)
      host.stated.push_back({.a = {DeviceKind::kGpu, a},
                             .b = {DeviceKind::kGpu, b},
                             .kind = PathKind::kNvl,
                             .links = 4});
    host.stated.push_back(
        {.a = {DeviceKind::kGpu, a}, .b = nic, .kind = a == 2 ? PathKind::kSys : PathKind::kPxb});
  }
  return finish(std::move(host), 0).value();
}

/// A GPU below `depth` switches.
inline HostModel deep_host(int depth) {
  HostModel host = small_host();
  for (int i = 0; i < depth; ++i) {
    const int parent = i == 0 ? 1 : static_cast<int>(host.bridges.size()) - 1;
    host.bridges.push_back({.kind = BridgeKind::kSwitch, .parent = parent});
  }
  host.gpus[1].pci.bridge = static_cast<int>(host.bridges.size()) - 1;
  return finish(std::move(host), 0).value();
}

/// With this many GPUs below one switch.
inline HostModel wide_host(int gpus) {
  HostModel host = small_host();
  host.links.clear();
  host.gpus.resize(1);
  for (int i = 1; i < gpus; ++i) host.gpus.push_back(host.gpus.front());
  return finish(std::move(host), 0).value();
}

/// Names that no program expects, in every place that has one.
inline HostModel hostile_host() {
  const std::string bad = std::string("<&\"'\\>\n\x1b\xff]]>").append(150, 'x') + "é…";
  HostModel host = eight_gpu_host();
  host.name = host.product = host.architecture = bad;
  for (Package& package : host.packages) package.cpu_model = bad;
  for (Gpu& gpu : host.gpus) {
    gpu.name = bad;
    gpu.model = known(bad);
  }
  for (Nic& nic : host.nics) {
    nic.name = bad;
    nic.interfaces = {bad, ""};
  }
  host.sources = {bad, " "};
  host.warnings = {{bad, 0}, {"", 1}};
  host.numa_nodes[0].cpus = CpuSet();
  for (std::size_t cpu = 0; cpu < 1000; cpu += 2) host.numa_nodes[0].cpus.add(cpu);
  return host;
}

inline HostModel cpus_only_host() {
  HostModel host{.name = " ", .withheld = CpuSet::parse("1").value()};
  host.cores = {{CpuSet::parse("0-1").value()}, {CpuSet::parse("2").value()}};
  return finish(std::move(host), 0).value();
}

/// Memory of one node for both packages, some of high bandwidth beside it, some without CPUs, and a
/// cache that is larger than a node.
inline HostModel odd_memory_host() {
  HostModel host = small_host();
  const CpuSet all = CpuSet::parse("0-7").value();
  host.numa_nodes = {
      {.number = 3, .cpus = all, .memory_bytes = 64},
      {.number = 7, .cpus = all, .memory_bytes = 16, .kind = MemoryKind::kHighBandwidth},
      {.number = 9, .memory_bytes = 32, .kind = MemoryKind::kDevice}};
  host.caches = {{.cpus = CpuSet::parse("0-3").value(), .bytes = 1 << 20}};
  for (Bridge& bridge : host.bridges)
    if (bridge.near.is_known()) bridge.near.value->numa_nodes.clear();
  return finish(std::move(host), 0).value();
}

inline std::vector<HostModel> many_hosts() {
  std::vector<HostModel> hosts = {finish(small_host(), 0).value(),
                                  eight_gpu_host(),
                                  matrix_host(),
                                  cpus_only_host(),
                                  odd_memory_host(),
                                  hostile_host()};
  for (const int depth : {1, 2, 12}) hosts.push_back(deep_host(depth));
  for (int gpus = 1; gpus <= 16; ++gpus) hosts.push_back(wide_host(gpus));
  return hosts;
}

}  // namespace paceline::topology
