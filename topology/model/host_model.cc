#include "topology/model/host_model.h"

#include <tuple>

namespace paceline::topology {
namespace {

auto said(const HostModel& host) {
  return std::tie(host.product, host.architecture, host.processor, host.cpus, host.withheld,
                  host.packages, host.numa_nodes, host.caches, host.cores, host.bridges, host.gpus,
                  host.nics, host.links, host.stated);
}

}  // namespace

bool same_machine(const HostModel& a, const HostModel& b) { return said(a) == said(b); }

std::vector<NumaNode> cpu_nodes(const HostModel& host) {
  std::vector<NumaNode> nodes;
  for (const NumaNode& node : host.numa_nodes)
    if (node.kind == MemoryKind::kOrdinary && !node.cpus.is_empty()) nodes.push_back(node);
  return nodes;
}

std::vector<int> numa_nodes_of(const HostModel& host, const CpuSet& cpus) {
  std::vector<int> numbers;
  for (const NumaNode& node : host.numa_nodes)
    if (node.kind == MemoryKind::kOrdinary && node.cpus.has_any(cpus))
      numbers.push_back(node.number);
  return numbers;
}

}  // namespace paceline::topology
