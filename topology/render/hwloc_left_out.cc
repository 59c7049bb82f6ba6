#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "comm/base/text.h"
#include "topology/model/at.h"
#include "topology/render/hwloc_names.h"
#include "topology/render/left_out_list.h"

namespace paceline::topology {
namespace {

template <class List, class Predicate>
std::size_t count_of(const List& list, Predicate predicate) {
  return static_cast<std::size_t>(std::ranges::count_if(list, predicate));
}

std::vector<const GpuLibrary*> libraries_of(const Gpu& gpu) {
  std::vector<const GpuLibrary*> libraries;
  for (const std::string& name : hwloc_names_of(gpu)) libraries.push_back(gpu_library_of(name));
  return libraries;
}

bool has_other_name(const Gpu& gpu) {
  const std::vector<std::string> names = hwloc_names_of(gpu);
  if (names.empty()) return false;
  return std::ranges::find(names, gpu.name) == names.end();
}

// A GPU without an address is one OS device for readers.
bool has_other_names(const Gpu& gpu) {
  std::vector<std::string> names = hwloc_names_of(gpu);
  if (!gpu.pci.bus.is_known() && names.size() > 1) return true;
  std::ranges::sort(names);
  return names != gpu.names;
}

// hwloc states it in KiB.
bool loses_memory(const Gpu& gpu) {
  const auto states_it = [](const GpuLibrary* library) { return library->memory != nullptr; };
  return gpu.memory_bytes.is_known() &&
         (*gpu.memory_bytes % 1024 != 0 || std::ranges::none_of(libraries_of(gpu), states_it));
}

bool loses_uuid(const Gpu& gpu) {
  const auto states_it = [](const GpuLibrary* library) { return library->uuid != nullptr; };
  return gpu.uuid.is_known() && std::ranges::none_of(libraries_of(gpu), states_it);
}

bool loses_parts(const Gpu& gpu) {
  const auto has_parts = [](const GpuLibrary* library) { return library->prefix == "ze"; };
  return gpu.parts > 1 && std::ranges::none_of(libraries_of(gpu), has_parts);
}

bool loses_pci(const Gpu& gpu) {
  const PciFunction& pci = gpu.pci;
  return !pci.bus.is_known() && (pci.vendor != 0 || pci.device != 0 || pci.mb_per_s.is_known());
}

// Objects have those of their CPUs that may be used. Complete sets have all, and of which object a
// withheld CPU is cannot be told from CPUs that are off line.
void add_withheld(const HostModel& host, LeftOutList& list) {
  const auto loses = [&](const auto& part) { return part.cpus.has_any(host.withheld); };
  list.count("packages.cpus", count_of(host.packages, loses), "partly withheld package");
  list.count("numa_nodes.cpus", count_of(host.numa_nodes, loses), "partly withheld NUMA node");
  // Readers know memory of high bandwidth by other memory of the same CPUs.
  const auto loses_kind = [&](const NumaNode& node) {
    return node.kind == MemoryKind::kHighBandwidth && !node.cpus.has_any(host.cpus);
  };
  list.count("numa_nodes.kind", count_of(host.numa_nodes, loses_kind), "memory kind");
  list.count("caches", count_of(host.caches, loses), "partly withheld cache");
  list.count("cores", count_of(host.cores, loses), "withheld core");
}

void add_gpus(const HostModel& host, LeftOutList& list) {
  list.count("gpus.name", count_of(host.gpus, has_other_name), "GPU name");
  list.count("gpus.names", count_of(host.gpus, has_other_names), "GPU name list");
  list.count("gpus.memory_bytes", count_of(host.gpus, loses_memory), "GPU memory size");
  list.count("gpus.uuid", count_of(host.gpus, loses_uuid), "GPU UUID");
  list.count("gpus.parts", count_of(host.gpus, loses_parts), "GPU tile count");
  list.count("gpus.pci", count_of(host.gpus, loses_pci), "PCI device");
}

// Of NICs with an address: the others are left out as a whole.
void add_nics(const HostModel& host, LeftOutList& list) {
  const auto count = [&](const std::string& field, const std::string& what, auto is_lost) {
    list.count(
        field,
        count_of(host.nics, [&](const Nic& nic) { return nic.pci.bus.is_known() && is_lost(nic); }),
        what);
  };
  count("nics.port", "NIC port number", [](const Nic& nic) { return nic.port != 1; });
  count("nics.is_up", "NIC state", [](const Nic& nic) { return nic.is_up.is_known(); });
  count("nics.gid", "NIC GID", [](const Nic& nic) { return nic.gid.is_known(); });
  count("nics.guid", "NIC GUID",
        [](const Nic& nic) { return nic.guid.is_known() && !nic.has_rdma; });
}

void add_links(const HostModel& host, LeftOutList& list) {
  const auto has_object = [&](int gpu) { return !hwloc_names_of(host.gpus[at(gpu)]).empty(); };
  std::set<int> switched;
  std::size_t between_unnamed = 0, counted = 0;
  for (const GpuLink& link : host.links) {
    if (link.end == LinkEnd::kSwitch)
      switched.insert(link.gpu);
    else if (!has_object(link.gpu) || (link.end == LinkEnd::kGpu && !has_object(link.peer)))
      ++between_unnamed;
    else if (link.count != 0)
      ++counted;
  }
  if (!switched.empty())
    list.say("links", "links to switches of " + count_text(switched.size(), "GPU") +
                          " are left out, because the addresses of the switches are not known");
  list.count("links", between_unnamed, "link");
  list.count("links.count", counted, "link count");
}

}  // namespace

LeftOut left_out_of_hwloc_xml(const HostModel& host) {
  LeftOutList list("hwloc's XML");
  add_links(host, list);
  if (!host.stated.empty())
    list.say("stated",
             "paths of " + count_text(host.stated.size(), "pair") +
                 " of devices are left out, because hwloc's XML states bridges and links");
  const std::size_t nics =
      count_of(host.nics, [](const Nic& nic) { return !nic.pci.bus.is_known(); });
  if (nics > 0)
    list.say("nics", count_text(nics, "NIC") +
                         " without a PCI address: only the names of devices are written");
  add_withheld(host, list);
  add_gpus(host, list);
  add_nics(host, list);
  return list.take();
}

}  // namespace paceline::topology
