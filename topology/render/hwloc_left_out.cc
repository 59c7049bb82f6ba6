#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "comm/base/text.h"
#include "topology/model/at.h"
#include "topology/render/hwloc_names.h"
#include "topology/render/left_out_list.h"

namespace paceline::topology {
namespace {

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
  list.count_if("packages.cpus", "partly withheld package", host.packages, loses);
  list.count_if("numa_nodes.cpus", "partly withheld NUMA node", host.numa_nodes, loses);
  // Readers know memory of high bandwidth by other memory of the same CPUs.
  const auto loses_kind = [&](const NumaNode& node) {
    return node.kind == MemoryKind::kHighBandwidth && !node.cpus.has_any(host.cpus);
  };
  list.count_if("numa_nodes.kind", "memory kind", host.numa_nodes, loses_kind);
  list.count_if("caches", "partly withheld cache", host.caches, loses);
  list.count_if("cores", "withheld core", host.cores, loses);
}

void add_gpus(const HostModel& host, LeftOutList& list) {
  list.count_if("gpus.name", "GPU name", host.gpus, has_other_name);
  list.count_if("gpus.names", "GPU name list", host.gpus, has_other_names);
  list.count_if("gpus.memory_bytes", "GPU memory size", host.gpus, loses_memory);
  list.count_if("gpus.uuid", "GPU UUID", host.gpus, loses_uuid);
  list.count_if("gpus.parts", "GPU tile count", host.gpus, loses_parts);
  list.count_if("gpus.pci", "PCI device", host.gpus, loses_pci);
}

// Of NICs with an address: the others are left out as a whole.
void add_nics(const HostModel& host, LeftOutList& list) {
  const auto count = [&](const std::string& field, const std::string& what, auto is_lost) {
    list.count_if(field, what, host.nics,
                  [&](const Nic& nic) { return nic.pci.bus.is_known() && is_lost(nic); });
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
  const auto nics =
      std::ranges::count_if(host.nics, [](const Nic& nic) { return !nic.pci.bus.is_known(); });
  if (nics > 0)
    list.say("nics", count_text(static_cast<std::size_t>(nics), "NIC") +
                         " without a PCI address: only the names of devices are written");
  add_withheld(host, list);
  add_gpus(host, list);
  add_nics(host, list);
  return list.take();
}

}  // namespace paceline::topology
