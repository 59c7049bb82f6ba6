#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pugixml.hpp>

#include "comm/base/text.h"
#include "topology/model/hwloc_words.h"
#include "topology/render/hwloc_cpus.h"
#include "topology/render/hwloc_links.h"
#include "topology/render/hwloc_names.h"
#include "topology/render/outline.h"
#include "topology/render/plain_text.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

constexpr unsigned k3dController = 0x0302, kEthernet = 0x0200, kInfiniband = 0x0207,
                   kFabric = 0x0208, kOtherNetwork = 0x0280;

unsigned class_of(const Nic& nic) {
  if (nic.kind == NicKind::kInfiniband) return kInfiniband;
  if (nic.kind == NicKind::kUnknown) return kOtherNetwork;
  return nic.kind == NicKind::kOmniPath ? kFabric : kEthernet;
}

std::string gigabytes(const Fact<std::uint64_t>& mb_per_s) {
  char text[32];
  const double megabytes = mb_per_s.is_known() ? static_cast<double>(*mb_per_s) : 0;
  std::snprintf(text, sizeof text, "%.6f", megabytes / 1000);
  return text;
}

// The buses below a bridge.
struct BusRange {
  std::optional<BusId> first, last;

  void add(const Fact<BusId>& bus) {
    if (!bus.is_known()) return;
    if (!first || *bus < *first) first = *bus;
    if (!last || *last < *bus) last = *bus;
  }
  std::string text() const {
    const BusId from = first.value_or(BusId()), to = last.value_or(BusId());
    const unsigned end = from.domain == to.domain ? to.bus : 0xffU;
    char text[40];
    std::snprintf(text, sizeof text, "%04x:[%02x-%02x]", from.domain, unsigned{from.bus}, end);
    return text;
  }
};

// Addresses of ports, which readers want and the model does not have: each once, beside those of
// the model.
class SpareBusIds {
 public:
  explicit SpareBusIds(const HostModel& host) {
    for (const Bridge& bridge : host.bridges) take(bridge.bus);
    for (const Gpu& gpu : host.gpus) take(gpu.pci.bus);
    for (const Nic& nic : host.nics) take(nic.pci.bus);
  }

  /// One that readers drop again.
  BusId made_up() {
    BusId bus = made_up_bus_id(made_up_++);
    while (!taken_.insert(bus).second) bus = made_up_bus_id(made_up_++);
    return bus;
  }
  /// On this bus, or on the next one that has room.
  BusId next(std::uint32_t domain, unsigned bus) {
    constexpr unsigned kDevices = 32, kOnABus = 256;
    for (;; ++bus) {
      unsigned& tried = tried_[{domain, bus % kOnABus}];
      while (tried < kOnABus) {
        const BusId spare{.domain = domain,
                          .bus = static_cast<std::uint8_t>(bus % kOnABus),
                          .device = static_cast<std::uint8_t>(tried % kDevices),
                          .function = static_cast<std::uint8_t>(tried / kDevices)};
        ++tried;
        if (taken_.insert(spare).second) return spare;
      }
      if (bus % kOnABus == kOnABus - 1) ++domain;
    }
  }

 private:
  void take(const Fact<BusId>& bus) {
    if (bus.is_known()) taken_.insert(*bus);
  }

  std::set<BusId> taken_;
  std::map<std::pair<std::uint32_t, unsigned>, unsigned> tried_;
  unsigned made_up_ = 0;
};

// Devices and the bridges above them. A switch of the model becomes an upstream port below a root
// port or another switch's downstream port, and has a downstream port for each that is below it:
// that is what readers count as one switch.
class Devices {
 public:
  Devices(const HostModel& host, const HwlocCpus& cpus, int& next)
      : host_(host), cpus_(cpus), next_(next), spare_(host), of_gpus_(host.gpus.size()) {}

  void add_all(pugi::xml_node where, const Group& group) {
    for (const Group& inside : group.inside) {
      if (inside.kind == Group::Kind::kPackage)
        add_all(cpus_.of_package(inside.place), inside);
      else if (inside.kind == Group::Kind::kNode)
        add_all(cpus_.of_node(inside.place), inside);
      else if (inside.kind == Group::Kind::kUnplaced)
        add_all(where, inside);
      else
        add_below_cpus(where, inside);
    }
  }

  /// The gp_index of each GPU's first OS device.
  const std::vector<std::string>& of_gpus() const { return of_gpus_; }

 private:
  void add_below_cpus(pugi::xml_node where, const Group& group) {
    const pugi::xml_node nearest = cpus_.nearest(near_of(group), where);
    const Fact<Place> told = cpus_.told_at(nearest);
    if (group.kind == Group::Kind::kBridge)
      add_host_bridge(nearest, group, told);
    else
      add_device(nearest, group, told);
  }

  // States where an object is if that does not follow from its position, which tells readers
  // `told`. The place that readers take for near to the object.
  static Fact<Place> add_near(pugi::xml_node object, const Fact<Place>& near,
                              const Fact<Place>& told) {
    if (near == told) return told;
    CpuSet nodes;
    if (near.is_known())
      for (const int node : near->numa_nodes)
        if (node >= 0 && node < static_cast<int>(CpuSet::kMostCpus))
          nodes.add(static_cast<std::size_t>(node));
    add_hwloc_info(object, kNearCpus, near.is_known() ? near->cpus.to_text() : kNearUnknown);
    add_hwloc_info(object, kNearNodes, nodes.to_text());
    return near;
  }

  const Bridge& bridge_of(const Group& group) const {
    return host_.bridges[static_cast<std::size_t>(group.place)];
  }
  const PciFunction& pci_of(const Group& device) const {
    const auto place = static_cast<std::size_t>(device.place);
    return device.kind == Group::Kind::kGpu ? host_.gpus[place].pci : host_.nics[place].pci;
  }
  const Fact<Place>& near_of(const Group& group) const {
    const auto place = static_cast<std::size_t>(group.place);
    if (group.kind == Group::Kind::kBridge) return host_.bridges[place].near;
    return group.kind == Group::Kind::kGpu ? host_.gpus[place].near : host_.nics[place].near;
  }
  const Fact<std::uint64_t>& speed_of(const Group& group) const {
    const bool is_bridge = group.kind == Group::Kind::kBridge;
    return is_bridge ? bridge_of(group).mb_per_s : pci_of(group).mb_per_s;
  }

  void add_buses(const Group& group, BusRange& range) const {
    const bool is_bridge = group.kind == Group::Kind::kBridge;
    range.add(is_bridge ? bridge_of(group).bus : pci_of(group).bus);
    for (const Group& inside : group.inside) add_buses(inside, range);
  }

  pugi::xml_node add_bridge(pugi::xml_node where, const Group& below, int depth) {
    pugi::xml_node bridge = add_hwloc_object(where, "Bridge", next_);
    BusRange range;
    add_buses(below, range);
    set_attribute(bridge, "bridge_type", depth == 0 ? "0-1" : "1-1");
    set_attribute(bridge, "depth", std::to_string(depth));
    set_attribute(bridge, "bridge_pci", range.text());
    return bridge;
  }

  // A port that leads to `below`.
  pugi::xml_node add_port(pugi::xml_node where, const Group& below, int depth, const BusId& bus) {
    pugi::xml_node port = add_bridge(where, below, depth);
    set_attribute(port, "pci_busid", to_text(bus));
    set_attribute(port, "pci_type", "0604 [0000:0000] [0000:0000] 00");
    set_attribute(port, "pci_link_speed", gigabytes(speed_of(below)));
    return port;
  }

  void add_host_bridge(pugi::xml_node where, const Group& group, const Fact<Place>& told) {
    const pugi::xml_node bridge = add_bridge(where, group, 0);
    const Fact<Place> near = add_near(bridge, near_of(group), told);
    for (const Group& inside : group.inside) {
      if (inside.kind != Group::Kind::kBridge) {
        add_device(bridge, inside, near);
        continue;
      }
      const BusId own = bridge_of(inside).bus.value.value_or(BusId());
      add_switch(add_port(bridge, inside, 1, spare_.next(own.domain, 0)), inside, near, 2);
    }
  }

  void add_switch(pugi::xml_node where, const Group& group, const Fact<Place>& told, int depth) {
    const Fact<BusId>& known = bridge_of(group).bus;
    const BusId own = known.is_known() ? *known : spare_.made_up();
    const pugi::xml_node upstream = add_port(where, group, depth, own);
    for (const Group& inside : group.inside) {
      const BusId bus = spare_.next(own.domain, own.bus + 1U);
      const pugi::xml_node downstream = add_port(upstream, inside, depth + 1, bus);
      if (inside.kind == Group::Kind::kBridge)
        add_switch(downstream, inside, told, depth + 2);
      else
        add_device(downstream, inside, told);
    }
  }

  // A device without an address is known by its OS devices alone.
  void add_device(pugi::xml_node where, const Group& group, Fact<Place> told) {
    const auto place = static_cast<std::size_t>(group.place);
    const bool is_gpu = group.kind == Group::Kind::kGpu;
    const PciFunction& pci = pci_of(group);
    pugi::xml_node device = where;
    if (pci.bus.is_known()) {
      device = add_hwloc_object(where, "PCIDev", next_);
      char type[48];
      std::snprintf(type, sizeof type, "%04x [%04x:%04x] [0000:0000] 00",
                    is_gpu ? k3dController : class_of(host_.nics[place]), unsigned{pci.vendor},
                    unsigned{pci.device});
      set_attribute(device, "pci_busid", to_text(*pci.bus));
      set_attribute(device, "pci_type", type);
      set_attribute(device, "pci_link_speed", gigabytes(pci.mb_per_s));
      told = add_near(device, near_of(group), told);
    }
    if (is_gpu)
      add_gpu(device, host_.gpus[place], told);
    else
      add_nic(device, host_.nics[place]);
  }

  pugi::xml_node add_os_device(pugi::xml_node where, const std::string& name, OsDevice type) {
    pugi::xml_node device = add_hwloc_object(where, "OSDev", next_);
    set_attribute(device, "name", printable(name));
    set_attribute(device, "osdev_type", std::to_string(static_cast<int>(type)));
    return device;
  }

  void add_gpu(pugi::xml_node where, const Gpu& gpu, const Fact<Place>& told) {
    const std::vector<std::string> names = hwloc_names_of(gpu);
    if (names.empty() && gpu.model.is_known()) add_hwloc_info(where, "PCIDevice", *gpu.model);
    for (const std::string& name : names) {
      const GpuLibrary& library = *gpu_library_of(name);
      pugi::xml_node device = add_os_device(where, name, library.type);
      std::string& number = of_gpus_[static_cast<std::size_t>(gpu.number)];
      if (number.empty()) number = device.attribute("gp_index").value();
      add_near(device, gpu.near, told);
      if (library.subtype != nullptr) {
        set_attribute(device, "subtype", library.subtype);
        add_hwloc_info(device, "Backend", library.subtype);
      }
      if (gpu.model.is_known()) add_hwloc_info(device, "GPUModel", *gpu.model);
      if (library.memory != nullptr && gpu.memory_bytes.is_known())
        add_hwloc_info(device, library.memory, std::to_string(*gpu.memory_bytes / 1024));
      if (library.uuid != nullptr && gpu.uuid.is_known())
        add_hwloc_info(device, library.uuid, *gpu.uuid);
      const int parts = gpu.parts > 1 && library.prefix == "ze" ? gpu.parts : 0;
      for (int part = 0; part < parts && library.subtype != nullptr; ++part)
        set_attribute(add_os_device(device, name + "." + std::to_string(part), library.type),
                      "subtype", library.subtype);
    }
  }

  void add_nic(pugi::xml_node where, const Nic& nic) {
    std::vector<std::string> interfaces = nic.interfaces;
    const bool is_listed = std::ranges::find(interfaces, nic.name) != interfaces.end();
    if (!nic.has_rdma && !is_listed && !nic.name.empty()) interfaces.push_back(nic.name);
    pugi::xml_node first;
    for (const std::string& interface : interfaces) {
      const pugi::xml_node device = add_os_device(where, interface, OsDevice::kNetwork);
      if (!first) first = device;
    }
    if (nic.has_rdma && !nic.name.empty()) {
      first = add_os_device(where, nic.name, OsDevice::kOpenFabrics);
      if (nic.guid.is_known()) add_hwloc_info(first, "NodeGUID", *nic.guid);
    }
    if (first && nic.rate_mbit.is_known())
      add_hwloc_info(first, "LinkSpeed", std::to_string(*nic.rate_mbit) + " Mb/s");
  }

  const HostModel& host_;
  const HwlocCpus& cpus_;
  int& next_;
  SpareBusIds spare_;
  std::vector<std::string> of_gpus_;
};

// A '>' may stand in a quoted value, but the reader that hwloc has without libxml2 takes it for the
// end of the element.
std::string without_bare_ends(const std::string& xml) {
  std::string text;
  bool is_quoted = false;
  for (const char letter : xml) {
    if (letter == '"') is_quoted = !is_quoted;
    if (is_quoted && letter == '>')
      text += "&gt;";
    else
      text += letter;
  }
  return text;
}

}  // namespace

std::string hwloc_xml_text(const HostModel& host) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  set_attribute(declaration, "version", "1.0");
  set_attribute(declaration, "encoding", "UTF-8");
  document.append_child(pugi::node_doctype).set_value("topology SYSTEM \"hwloc2.dtd\"");
  pugi::xml_node topology = document.append_child("topology");
  set_attribute(topology, "version", "2.0");
  int next = 1;
  const HwlocCpus cpus(host, topology, next);
  Devices devices(host, cpus, next);
  devices.add_all(cpus.machine(), outline_of(host));
  HwlocNumbers numbers{.of_gpus = devices.of_gpus(), .of_packages = {}};
  for (std::size_t i = 0; i < host.packages.size(); ++i)
    numbers.of_packages.emplace_back(
        cpus.of_package(static_cast<int>(i)).attribute("gp_index").value());
  add_hwloc_links(host, numbers, topology);
  add_hwloc_core_kinds(host, topology);
  std::ostringstream text;
  document.save(text, "  ");
  return without_bare_ends(text.str());
}

}  // namespace paceline::topology
