#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "comm/base/text.h"
#include "topology/model/at.h"
#include "topology/model/nccl_words.h"
#include "topology/model/nic_name.h"
#include "topology/model/pci_vendors.h"
#include "topology/model/pcie_link.h"
#include "topology/render/implied_tree.h"
#include "topology/render/left_out_list.h"
#include "topology/render/nccl_links.h"
#include "topology/render/processor.h"

namespace paceline::topology {
namespace {

bool is_ordinary(const NumaNode& node) { return node.kind == MemoryKind::kOrdinary; }

// NCCL states the speed and the lanes of a PCIe link.
bool is_inexact(const Fact<std::uint64_t>& mb_per_s) {
  return mb_per_s.is_known() && !pcie_link_of(*mb_per_s);
}

bool loses_identity(const PciFunction& pci) {
  return is_inexact(pci.mb_per_s) || (pci.vendor == 0 && pci.device != 0);
}

// What readers take a NIC for by its name and class.
Nic told(const Nic& nic, bool has_function) {
  Nic told;
  take_name(told, nic.name);
  if (!has_function) return told;
  if (nic.kind == NicKind::kInfiniband && told.kind == NicKind::kUnknown)
    told.kind = NicKind::kInfiniband;
  if (is_efa(nic.pci.vendor, nic.pci.device)) told.kind = NicKind::kEfa;
  return told;
}

class Finder {
 public:
  Finder(const HostModel& host, LeftOutList& list)
      : host_(host),
        whole_(with_implied_tree(host)),
        links_(whole_),
        list_(list),
        cpus_without_node_(cpus_without_node()) {}

  void find() {
    find_host();
    find_cpus();
    find_bridges();
    find_gpus();
    find_nics();
    find_devices_places();
    find_links();
  }

 private:
  void find_host() {
    list_.add_if(!host_.name.empty(), "name", "the host name");
    list_.add_if(!host_.product.empty(), "product", "the product name");
    if (host_.architecture != "x86_64") {
      list_.add_if(host_.processor.is_known(), "processor", "the processor");
    } else if (!host_.processor.is_known() && nccl_processor_of(host_, host_.cpus).is_known()) {
      list_.say("processor",
                "no source states family and model of the processor; NCCL's XML has those of its "
                "generation, which follow from its name");
    }
  }

  // ---- CPUs and memory

  void find_cpus() {
    list_.add_if(!(written_cpus() == host_.cpus), "cpus", "CPUs without a NUMA node");
    list_.add_if(!host_.withheld.is_empty(), "withheld", "CPUs that may not be used");
    if (links_.has_packages())
      list_.count_if("packages.cpu_model", "CPU model", host_.packages,
                     [](const Package& package) { return !package.cpu_model.empty(); });
    else
      list_.count("packages", host_.packages.size(), "package");
    list_.count_if("numa_nodes", "other memory node", host_.numa_nodes,
                   [](const NumaNode& node) { return !is_ordinary(node); });
    list_.count_if(
        "numa_nodes.memory_bytes", "memory size", host_.numa_nodes,
        [](const NumaNode& node) { return is_ordinary(node) && node.memory_bytes != 0; });
    list_.count_if("numa_nodes.cpus", "long CPU mask", host_.numa_nodes, [](const NumaNode& node) {
      return is_ordinary(node) && !has_nccl_room(node.cpus);
    });
    list_.count("caches", host_.caches.size(), "cache");
    list_.count("cores", host_.cores.size(), "core");
  }

  // Host bridges without a NUMA node are one <cpu>, with the CPUs that are near to any of them.
  CpuSet cpus_without_node() const {
    CpuSet cpus;
    for (const Bridge& bridge : whole_.bridges)
      if (bridge.kind == BridgeKind::kHost && bridge.near.is_known() &&
          nccl_node_of(whole_, bridge.near) == kNone)
        cpus.add(bridge.near->cpus);
    return has_nccl_room(cpus) ? cpus : CpuSet();
  }

  CpuSet written_cpus() const {
    CpuSet cpus = cpus_without_node_;
    if (is_bare(whole_) && has_nccl_room(host_.cpus)) return host_.cpus;
    for (const NumaNode& node : host_.numa_nodes)
      if (is_ordinary(node) && has_nccl_room(node.cpus)) cpus.add(node.cpus);
    return cpus;
  }

  // What readers take for near to what is below the <cpu> of a node.
  Fact<Place> told_near(int node) const {
    Place place;
    if (node != kNone) place.numa_nodes = {node};
    if (node == kNone) place.cpus = cpus_without_node_;
    for (const NumaNode& known : host_.numa_nodes)
      if (known.number == node && has_nccl_room(known.cpus)) place.cpus = known.cpus;
    return place == Place() ? Fact<Place>() : known(place);
  }

  // ---- devices

  void find_bridges() {
    std::set<int> nodes;
    std::size_t roots = 0;
    for (const Bridge& bridge : whole_.bridges)
      if (bridge.kind == BridgeKind::kHost) nodes.insert(nccl_node_of(whole_, bridge.near));
    for (const Bridge& bridge : host_.bridges)
      if (bridge.kind == BridgeKind::kHost) ++roots;
    const auto is_loose = [](const auto& device) { return device.pci.bridge == kNone; };
    list_.add_if(roots != nodes.size() || std::ranges::any_of(host_.gpus, is_loose) ||
                     std::ranges::any_of(host_.nics, is_loose),
                 "bridges", "which devices share a host bridge");
    list_.count_if("bridges.near", "place of a host bridge", host_.bridges,
                   [&](const Bridge& bridge) {
                     return bridge.kind == BridgeKind::kHost &&
                            !(bridge.near == told_near(nccl_node_of(host_, bridge.near)));
                   });
    list_.count_if("bridges.mb_per_s", "switch link", host_.bridges,
                   [](const Bridge& bridge) { return is_inexact(bridge.mb_per_s); });
  }

  void find_gpus() {
    const auto& gpus = host_.gpus;
    const auto told_name = [](const Gpu& gpu) { return "GPU" + std::to_string(gpu.number); };
    list_.count_if("gpus.name", "GPU name", gpus,
                   [&](const Gpu& gpu) { return gpu.name != told_name(gpu); });
    list_.count_if("gpus.names", "GPU name list", gpus,
                   [&](const Gpu& gpu) { return gpu.names != std::vector{told_name(gpu)}; });
    list_.count_if("gpus.model", "GPU model", gpus,
                   [](const Gpu& gpu) { return gpu.model.is_known(); });
    list_.count_if("gpus.memory_bytes", "GPU memory size", gpus,
                   [](const Gpu& gpu) { return gpu.memory_bytes.is_known(); });
    list_.count_if("gpus.uuid", "GPU UUID", gpus,
                   [](const Gpu& gpu) { return gpu.uuid.is_known(); });
    list_.count_if("gpus.parts", "GPU tile count", gpus,
                   [](const Gpu& gpu) { return gpu.parts != 1; });
    list_.count_if("gpus.pci", "GPU PCIe fact", gpus,
                   [](const Gpu& gpu) { return loses_identity(gpu.pci); });
  }

  void find_nics() {
    const auto& nics = host_.nics;
    std::size_t kinds = 0, uses = 0, interfaces = 0;
    for (std::size_t i = 0; i < nics.size(); ++i) {
      const Nic read = told(nics[i], has_function(i));
      if (read.kind != nics[i].kind) ++kinds;
      if (read.has_rdma != nics[i].has_rdma) ++uses;
      if (read.interfaces != nics[i].interfaces) ++interfaces;
    }
    list_.count("nics.kind", kinds, "NIC kind");
    list_.count("nics.has_rdma", uses, "NIC RDMA state");
    list_.count("nics.interfaces", interfaces, "NIC interface list");
    list_.count_if("nics.port", "NIC port number", nics,
                   [](const Nic& nic) { return nic.port != 1 && !nic.rate_mbit.is_known(); });
    list_.count_if("nics.is_up", "NIC state", nics,
                   [](const Nic& nic) { return nic.is_up.is_known(); });
    list_.count_if("nics.gid", "NIC GID", nics, [](const Nic& nic) { return nic.gid.is_known(); });
    list_.count_if("nics.guid", "NIC GUID", nics, [&](const Nic& nic) {
      const auto guid = nccl_guid_of(host_, nic);
      return nic.guid.is_known() && (!guid || guid_of_nccl(*guid) != *nic.guid);
    });
  }

  // A NIC without an address has no function in the file if it is directly below a <cpu>.
  bool has_function(std::size_t nic) const {
    const PciFunction& pci = whole_.nics[nic].pci;
    return pci.bus.is_known() || whole_.bridges[at(pci.bridge)].kind == BridgeKind::kSwitch;
  }

  void find_devices_places() {
    const auto loses_near = [&](const auto& device, const PciFunction& pci) {
      return !(device.near == told_near(nccl_node_of(whole_, pci)));
    };
    std::size_t gpus = 0, nics = 0, identities = 0;
    for (std::size_t i = 0; i < host_.gpus.size(); ++i)
      if (loses_near(host_.gpus[i], whole_.gpus[i].pci)) ++gpus;
    for (std::size_t i = 0; i < host_.nics.size(); ++i) {
      const PciFunction& pci = host_.nics[i].pci;
      const bool says_any = pci.vendor != 0 || pci.device != 0 || pci.mb_per_s.is_known();
      if (loses_near(host_.nics[i], whole_.nics[i].pci)) ++nics;
      if (has_function(i) ? loses_identity(pci) : says_any) ++identities;
    }
    list_.count("gpus.near", gpus, "GPU place");
    list_.count("nics.near", nics, "NIC place");
    list_.count("nics.pci", identities, "NIC PCIe fact");
  }

  // ---- links

  void find_links() {
    list_.count_if("links", "link", host_.links,
                   [&](const GpuLink& link) { return !links_.is_written(link); });
    list_.count_if("links.mb_per_s", "link rate", host_.links, [&](const GpuLink& link) {
      if (!links_.is_written(link) || !link.mb_per_s.is_known()) return false;
      return !NcclLinks::has_rate(link) || *link.mb_per_s % NcclLinks::count_of(link) != 0;
    });
    const auto without_count = std::ranges::count_if(host_.links, [&](const GpuLink& link) {
      return links_.is_written(link) && link.count == 0;
    });
    if (without_count > 0)
      list_.say("links.count", "no source states how many links " +
                                   count_text(static_cast<std::size_t>(without_count), "pair") +
                                   " of devices have; NCCL's XML has 1, or the number that "
                                   "follows from their rate");
    if (!host_.stated.empty())
      list_.say("stated", "NCCL's XML has bridges and links instead of the stated paths of " +
                              count_text(host_.stated.size(), "pair") + " of devices");
  }

  const HostModel& host_;
  const HostModel whole_;
  const NcclLinks links_;
  LeftOutList& list_;
  const CpuSet cpus_without_node_;
};

}  // namespace

LeftOut left_out_of_nccl_xml(const HostModel& host) {
  LeftOutList list("NCCL's XML");
  Finder(host, list).find();
  return list.take();
}

}  // namespace paceline::topology
