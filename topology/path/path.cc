#include "topology/path/path.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace paceline::topology {
namespace {

// Estimates, where no source says more: MB/s each way of one link, and of what joins CPUs. NVLink 2
// to 4: 25 GB/s (NVIDIA, H100 whitepaper, 2022); XGMI of MI200: 50 (AMD, CDNA 2 whitepaper, 2021);
// Xe Link: 26.5. Between NUMA nodes what one stream of DMA was seen to reach (nccl,
// src/graph/topo.h has 10 to 40 by CPU).
constexpr std::uint64_t kNvlink = 25000, kXgmi = 50000, kXe = 26500;
constexpr std::uint64_t kOtherNode = 32000, kOtherPackage = 20000;
// Where nothing on a path through PCIe states a width: 16 lanes of the third generation.
constexpr std::uint64_t kPcie = 15754;

// Microseconds of a small message one way: what any takes, and what is on its way.
constexpr double kBase = 0.5, kLinkHop = 0.2, kBridgeHop = 0.15, kHostBridgeHop = 0.3,
                 kNodeHop = 0.3;

const PciFunction& pci_of(const HostModel& host, DeviceRef device) {
  const auto place = static_cast<std::size_t>(device.place);
  return device.kind == DeviceKind::kGpu ? host.gpus[place].pci : host.nics[place].pci;
}

const Fact<Place>& near_of(const HostModel& host, DeviceRef device) {
  const auto place = static_cast<std::size_t>(device.place);
  return device.kind == DeviceKind::kGpu ? host.gpus[place].near : host.nics[place].near;
}

const Bridge& bridge_at(const HostModel& host, int place) {
  return host.bridges[static_cast<std::size_t>(place)];
}

std::string name_of(const HostModel& host, DeviceRef device) {
  const auto place = static_cast<std::size_t>(device.place);
  if (device.kind == DeviceKind::kGpu) return host.gpus[place].name;
  const Nic& nic = host.nics[place];
  return nic.name.empty() && nic.pci.bus.is_known() ? to_text(*nic.pci.bus) : nic.name;
}

// What bounds a path, part by part.
class Narrowest {
 public:
  void pass(const Fact<std::uint64_t>& mb_per_s, const std::string& what) {
    if (mb_per_s.is_known()) narrow(*mb_per_s, what, false);
  }
  void pass_estimate(std::uint64_t mb_per_s, const std::string& what) {
    narrow(mb_per_s, what, true);
  }
  // At most `otherwise` where nobody has told anything of it.
  void finish(Path& path, std::uint64_t otherwise) const {
    const bool is_narrower = mb_per_s_ != 0 && (is_known_ || mb_per_s_ < otherwise);
    path.mb_per_s = is_narrower ? mb_per_s_ : otherwise;
    path.narrowest = is_narrower ? what_ : "not known";
    path.is_estimate = !is_narrower || is_estimate_;
  }

 private:
  void narrow(std::uint64_t mb_per_s, const std::string& what, bool is_estimate) {
    if (mb_per_s == 0) return;
    is_known_ = is_known_ || !is_estimate;
    if (mb_per_s_ != 0 && mb_per_s_ <= mb_per_s) return;
    mb_per_s_ = mb_per_s;
    what_ = what;
    is_estimate_ = is_estimate;
  }

  std::uint64_t mb_per_s_ = 0;
  std::string what_;
  bool is_known_ = false;     // of any part
  bool is_estimate_ = false;  // of the narrowest
};

std::uint64_t estimate_of_one(LinkKind kind) {
  if (kind == LinkKind::kNvlink) return kNvlink;
  return kind == LinkKind::kXgmi ? kXgmi : kXe;
}

// The links of a GPU to this end, all together.
std::optional<Path> linked(const HostModel& host, int gpu, LinkEnd end, int peer) {
  Path path{.kind = PathKind::kNvl, .latency_us = kBase + kLinkHop, .narrowest = "its links"};
  for (const GpuLink& link : host.links) {
    const bool is_it =
        link.end == end && ((link.gpu == gpu && link.peer == peer) ||
                            (end == LinkEnd::kGpu && link.gpu == peer && link.peer == gpu));
    if (!is_it) continue;
    path.mb_per_s += link_mb_per_s(link);
    path.links += link.count;
    path.is_estimate = path.is_estimate || !link.mb_per_s.is_known();
  }
  return path.mb_per_s > 0 ? std::optional(path) : std::nullopt;
}

std::optional<Path> linked_gpus(const HostModel& host, int a, int b) {
  if (auto direct = linked(host, a, LinkEnd::kGpu, b)) return direct;
  const auto to_switch = linked(host, a, LinkEnd::kSwitch, kNone);
  const auto from_switch = linked(host, b, LinkEnd::kSwitch, kNone);
  if (!to_switch || !from_switch) return {};
  Path path = to_switch->mb_per_s <= from_switch->mb_per_s ? *to_switch : *from_switch;
  path.latency_us += kLinkHop;
  return path;
}

// The bridges above a function, the lowest first.
std::vector<int> bridges_above(const HostModel& host, const PciFunction& pci) {
  std::vector<int> above;
  for (int at = pci.bridge; at != kNone; at = bridge_at(host, at).parent) above.push_back(at);
  return above;
}

std::string name_of_bridge(const HostModel& host, int place) {
  const Bridge& bridge = bridge_at(host, place);
  return bridge.bus.is_known() ? "the uplink of " + to_text(*bridge.bus) : "the uplink of a switch";
}

bool share_a_node(const Fact<Place>& a, const Fact<Place>& b) {
  if (!a.is_known() || !b.is_known()) return false;
  return std::ranges::any_of(a->numa_nodes, [&](int node) {
    return std::ranges::find(b->numa_nodes, node) != b->numa_nodes.end();
  });
}

const Package* package_of(const HostModel& host, const CpuSet& cpus) {
  for (const Package& package : host.packages)
    if (package.cpus.has_any(cpus)) return &package;
  return nullptr;
}

std::uint64_t between_nodes(const HostModel& host, const CpuSet& a, const CpuSet& b) {
  return package_of(host, a) == package_of(host, b) ? kOtherNode : kOtherPackage;
}

// Up from both to the lowest bridge that both are below of, or to their host bridges.
Path pcie_path(const HostModel& host, DeviceRef a, DeviceRef b) {
  const PciFunction& from = pci_of(host, a);
  const PciFunction& to = pci_of(host, b);
  const std::vector<int> above_a = bridges_above(host, from), above_b = bridges_above(host, to);
  const auto common = std::ranges::find_first_of(above_a, above_b);

  Narrowest narrowest;
  narrowest.pass(from.mb_per_s, "the PCIe link of " + name_of(host, a));
  narrowest.pass(to.mb_per_s, "the PCIe link of " + name_of(host, b));
  int switches = 0;
  for (const auto* const above : {&above_a, &above_b}) {
    for (const int at : *above) {
      if (common != above_a.end() && at == *common) break;
      if (bridge_at(host, at).kind == BridgeKind::kHost) break;
      narrowest.pass(bridge_at(host, at).mb_per_s, name_of_bridge(host, at));
      ++switches;
    }
  }
  Path path{.latency_us = kBase};
  if (common != above_a.end()) {
    const bool is_host = bridge_at(host, *common).kind == BridgeKind::kHost;
    if (!is_host) ++switches;
    path.kind = is_host ? PathKind::kPhb : switches > 1 ? PathKind::kPxb : PathKind::kPix;
    path.latency_us += is_host ? kHostBridgeHop : 0;
  } else {
    const Fact<Place>&near_a = near_of(host, a), &near_b = near_of(host, b);
    path.kind = share_a_node(near_a, near_b) ? PathKind::kNode : PathKind::kSys;
    path.latency_us += 2 * kHostBridgeHop;
    if (path.kind == PathKind::kSys) {
      path.latency_us += kNodeHop;
      const bool known = near_a.is_known() && near_b.is_known();
      narrowest.pass_estimate(
          known ? between_nodes(host, near_a->cpus, near_b->cpus) : kOtherPackage,
          "the links between NUMA nodes");
    }
  }
  path.latency_us += kBridgeHop * switches;
  narrowest.finish(path, kPcie);
  return path;
}

std::uint64_t estimate_of(PathKind kind, int links) {
  if (kind == PathKind::kNvl) return kNvlink * static_cast<std::uint64_t>(std::max(links, 1));
  return kind == PathKind::kSys ? std::min(kPcie, kOtherPackage) : kPcie;
}

double latency_of(PathKind kind) {
  switch (kind) {
    case PathKind::kLoc:
      return 0;
    case PathKind::kNvl:
      return kBase + kLinkHop;
    case PathKind::kPix:
      return kBase + kBridgeHop;
    case PathKind::kPxb:
      return kBase + 3 * kBridgeHop;
    case PathKind::kPhb:
      return kBase + kHostBridgeHop;
    case PathKind::kNode:
      return kBase + 2 * kHostBridgeHop;
    default:
      return kBase + 2 * kHostBridgeHop + kNodeHop;
  }
}

std::optional<Path> stated(const HostModel& host, DeviceRef a, DeviceRef b) {
  const auto key = std::minmax(a, b);
  const auto found =
      std::ranges::lower_bound(host.stated, std::pair(key.first, key.second), {},
                               [](const StatedPath& path) { return std::pair(path.a, path.b); });
  if (found == host.stated.end() || found->a != key.first || found->b != key.second) return {};
  Path path{.kind = found->kind, .latency_us = latency_of(found->kind), .links = found->links};
  Narrowest narrowest;
  if (path.kind != PathKind::kNvl) {
    narrowest.pass(pci_of(host, a).mb_per_s, "the PCIe link of " + name_of(host, a));
    narrowest.pass(pci_of(host, b).mb_per_s, "the PCIe link of " + name_of(host, b));
  }
  narrowest.finish(path, estimate_of(path.kind, path.links));
  return path;
}

const CpuSet& cpus_of_node(const HostModel& host, int number) {
  static const CpuSet none;
  for (const NumaNode& node : host.numa_nodes)
    if (node.number == number) return node.cpus;
  return none;
}

std::optional<Path> linked_to_package(const HostModel& host, DeviceRef device, int node) {
  if (device.kind != DeviceKind::kGpu) return {};
  const Package* const package = package_of(host, cpus_of_node(host, node));
  if (package == nullptr) return {};
  return linked(host, device.place, LinkEnd::kPackage,
                static_cast<int>(package - host.packages.data()));
}

}  // namespace

std::uint64_t link_mb_per_s(const GpuLink& link) {
  if (link.mb_per_s.is_known()) return *link.mb_per_s;
  return estimate_of_one(link.kind) * static_cast<std::uint64_t>(std::max(link.count, 1));
}

Path path_between(const HostModel& host, DeviceRef a, DeviceRef b) {
  if (a == b) return {.kind = PathKind::kLoc};
  if (auto path = stated(host, a, b)) return *path;
  if (a.kind == DeviceKind::kGpu && b.kind == DeviceKind::kGpu)
    if (auto path = linked_gpus(host, a.place, b.place)) return *path;
  return pcie_path(host, a, b);
}

Path path_to_node(const HostModel& host, DeviceRef device, int node) {
  if (auto path = linked_to_package(host, device, node)) return *path;
  const PciFunction& pci = pci_of(host, device);
  const Fact<Place>& near = near_of(host, device);
  Path path{.kind = PathKind::kPhb, .latency_us = kBase + kHostBridgeHop};
  Narrowest narrowest;
  narrowest.pass(pci.mb_per_s, "the PCIe link of " + name_of(host, device));
  for (const int at : bridges_above(host, pci)) {
    if (bridge_at(host, at).kind == BridgeKind::kHost) break;
    narrowest.pass(bridge_at(host, at).mb_per_s, name_of_bridge(host, at));
    path.latency_us += kBridgeHop;
  }
  const bool is_near =
      near.is_known() && std::ranges::find(near->numa_nodes, node) != near->numa_nodes.end();
  if (!is_near) {
    path.kind = PathKind::kSys;
    path.latency_us += kNodeHop;
    narrowest.pass_estimate(
        near.is_known() ? between_nodes(host, near->cpus, cpus_of_node(host, node)) : kOtherPackage,
        "the links between NUMA nodes");
  }
  narrowest.finish(path, kPcie);
  return path;
}

Path path_between_nodes(const HostModel& host, int a, int b) {
  if (a == b) return {.kind = PathKind::kLoc};
  return {.kind = PathKind::kSys,
          .mb_per_s = between_nodes(host, cpus_of_node(host, a), cpus_of_node(host, b)),
          .latency_us = kNodeHop,
          .narrowest = "the links between NUMA nodes",
          .is_estimate = true};
}

}  // namespace paceline::topology
