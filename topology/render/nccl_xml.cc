// What NCCL's reader asks for (nccl, src/graph/xml.cc and topo.cc) and what follows:
//
// - It decodes no entities, knows no <?xml?> and no tabs, and an attribute has at most 254 letters.
// - A <pci> with a <gpu> that a job uses is completed from sysfs and the driver, if it exists: sm,
//   gdr, link_speed. What the model does not know of it is left out; a guess would hide the truth.
// - A <net> is found by its name, and then nothing above it is completed: <cpu>, switches and NICs
//   need all that NCCL reads later. link_width="0" is its word for a width that nobody knows.
// - A switch that a matrix implies has an address of its own, which is made up: ffff:ff:01.0. So
//   has a GPU without one. Our reader drops these again.
// - Elements of devices that a job does not use are dropped.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "topology/model/nccl_words.h"
#include "topology/model/pci_vendors.h"
#include "topology/model/pcie_link.h"
#include "topology/render/implied_tree.h"
#include "topology/render/nccl_links.h"
#include "topology/render/plain_text.h"
#include "topology/render/processor.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

// What NCCL itself writes for an end of a link that it cannot see.
constexpr std::string_view kUnseen = "fffffff:ffff:ff";

std::string hexadecimal(unsigned number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "0x";
  for (int shift = 12; shift >= 0; shift -= 4) text += kDigits[number >> shift & 15];
  return text;
}

// Elements within each other, two columns a level.
class Xml {
 public:
  void open(std::string_view name) {
    finish_head();
    text_.append(2 * names_.size(), ' ').append("<").append(name);
    names_.emplace_back(name);
    is_in_head_ = true;
  }
  void attribute(std::string_view name, std::string_view value) {
    text_.append(" ").append(name).append("=\"").append(xml_escaped(value)).append("\"");
  }
  void attribute(std::string_view name, std::uint64_t value) {
    attribute(name, std::to_string(value));
  }
  void close() {
    const std::string name = std::move(names_.back());
    names_.pop_back();
    if (is_in_head_) {
      text_.append("/>\n");
    } else {
      text_.append(2 * names_.size(), ' ').append("</").append(name).append(">\n");
    }
    is_in_head_ = false;
  }
  std::string take() { return std::move(text_); }

 private:
  void finish_head() {
    if (is_in_head_) text_.append(">\n");
    is_in_head_ = false;
  }

  std::string text_;
  std::vector<std::string> names_;
  bool is_in_head_ = false;
};

// What hangs below a bridge: places in the lists.
struct Below {
  std::vector<std::size_t> bridges, gpus, nics;
};

class Writer {
 public:
  explicit Writer(const HostModel& host) : host_(host), links_(host), below_(host.bridges.size()) {
    hang_bridges();
    for (std::size_t i = 0; i < host.gpus.size(); ++i) below(host.gpus[i].pci).gpus.push_back(i);
    for (std::size_t i = 0; i < host.nics.size(); ++i) below(host.nics[i].pci).nics.push_back(i);
    give_addresses();
  }

  std::string write() {
    is_of_amd_ =
        std::ranges::any_of(host_.gpus, [](const Gpu& gpu) { return gpu.pci.vendor == kAmd; }) ||
        std::ranges::any_of(host_.links,
                            [](const GpuLink& link) { return link.kind == LinkKind::kXgmi; });
    xml_.open("system");
    xml_.attribute("version", is_of_amd_ ? "2" : "1");
    std::vector<int> nodes;  // as their first host bridges come, then those without any
    std::map<int, std::vector<std::size_t>> bridges;
    for (std::size_t i = 0; i < host_.bridges.size(); ++i) {
      if (host_.bridges[i].kind != BridgeKind::kHost) continue;
      const int node = nccl_node_of(host_, host_.bridges[i].near);
      if (!bridges.contains(node)) nodes.push_back(node);
      bridges[node].push_back(i);
    }
    for (const NumaNode& node : host_.numa_nodes)
      if (node.kind == MemoryKind::kOrdinary && !bridges.contains(node.number))
        nodes.push_back(node.number);
    if (is_bare(host_)) nodes.push_back(kNone);
    for (const int node : nodes) write_cpu(node, bridges[node]);
    xml_.close();
    return xml_.take();
  }

 private:
  // What is below a bridge that is nested too deep comes below the deepest that is not, so that
  // writing may recurse.
  void hang_bridges() {
    constexpr int kMostDepth = 32;
    std::vector<int> depths(host_.bridges.size());
    stands_for_.resize(host_.bridges.size());
    for (std::size_t i = 0; i < host_.bridges.size(); ++i) {
      stands_for_[i] = i;
      if (host_.bridges[i].parent == kNone) continue;
      const std::size_t parent = stands_for_[static_cast<std::size_t>(host_.bridges[i].parent)];
      depths[i] = depths[parent] + 1;
      if (depths[i] < kMostDepth) {
        below_[parent].bridges.push_back(i);
      } else {
        stands_for_[i] = parent;
      }
    }
  }
  Below& below(const PciFunction& pci) {
    return below_[stands_for_[static_cast<std::size_t>(pci.bridge)]];
  }

  // ---- addresses

  void give_addresses() {
    for (const Bridge& bridge : host_.bridges) note(bridge.bus);
    for (const Gpu& gpu : host_.gpus) note(gpu.pci.bus);
    for (const Nic& nic : host_.nics) note(nic.pci.bus);
    for (const Bridge& bridge : host_.bridges)
      bridge_addresses_.push_back(bridge.kind == BridgeKind::kHost ? "" : address(bridge.bus));
    for (const Gpu& gpu : host_.gpus) gpu_addresses_.push_back(address(gpu.pci.bus));
  }
  void note(const Fact<BusId>& bus) {
    if (bus.is_known()) used_.insert(*bus);
  }
  std::string address(const Fact<BusId>& bus) {
    if (bus.is_known()) return to_text(*bus);
    BusId made_up = made_up_bus_id(++made_up_);
    while (!used_.insert(made_up).second) made_up = made_up_bus_id(++made_up_);
    return to_text(made_up);
  }

  // ---- CPUs

  void write_cpu(int node, const std::vector<std::size_t>& bridges) {
    Below all;
    CpuSet cpus;
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (const std::size_t bridge : bridges) {
      const Below& one = below_[bridge];
      append(all.bridges, one.bridges);
      append(all.gpus, one.gpus);
      append(all.nics, one.nics);
      if (node == kNone && host_.bridges[bridge].near.is_known())
        cpus.add(host_.bridges[bridge].near->cpus);
    }
    for (const NumaNode& known : host_.numa_nodes)
      if (known.number == node) cpus = known.cpus;
    if (is_bare(host_)) cpus = host_.cpus;
    xml_.open("cpu");
    xml_.attribute("numaid", std::to_string(node));
    if (!cpus.is_empty() && has_nccl_room(cpus)) xml_.attribute("affinity", cpu_mask_text(cpus));
    write_processor(cpus, has_any(all, &Below::gpus) && !has_any(all, &Below::nics));
    write_devices(all, BridgeKind::kHost);
    xml_.close();
  }

  bool has_any(const Below& below, std::vector<std::size_t> Below::*devices) const {
    return !(below.*devices).empty() || std::ranges::any_of(below.bridges, [&](std::size_t bridge) {
      return has_any(below_[bridge], devices);
    });
  }

  // NCCL completes a <cpu> above a GPU that a job uses. A job may use a NIC without the GPUs beside
  // it: there an attribute that is not known must be there, and is empty.
  void write_processor(const CpuSet& cpus, bool is_completed) {
    const std::string& known = host_.architecture;
    const std::string arch = known == "aarch64"           ? "arm64"
                             : known.starts_with("ppc64") ? "ppc64"
                                                          : known;
    if (!arch.empty() || !is_completed) xml_.attribute("arch", arch);
    if (arch != "x86_64") return;
    const Fact<Processor> processor = nccl_processor_of(host_, cpus);
    if (processor.is_known()) {
      xml_.attribute("vendor", processor->vendor);
      xml_.attribute("familyid", static_cast<std::uint64_t>(processor->family));
      xml_.attribute("modelid", static_cast<std::uint64_t>(processor->model));
    } else if (!is_completed) {
      xml_.attribute("vendor", "");
    }
  }

  // ---- PCI

  bool has_address(std::size_t nic) const { return host_.nics[nic].pci.bus.is_known(); }

  // NCCL keeps devices in the order of their addresses.
  void write_devices(const Below& all, BridgeKind above) {
    std::vector<std::pair<std::string, std::size_t>> gpus, nics;
    for (const std::size_t gpu : all.gpus) gpus.emplace_back(gpu_addresses_[gpu], gpu);
    for (const std::size_t nic : all.nics) {
      const bool needs_none = above == BridgeKind::kHost && !has_address(nic);
      nics.emplace_back(needs_none ? "" : address(host_.nics[nic].pci.bus), nic);
    }
    std::ranges::sort(gpus);
    std::ranges::sort(nics);
    for (auto part = gpus.begin(); part != gpus.end();) {
      const auto end = std::find_if(part, gpus.end(),
                                    [&](const auto& other) { return other.first != part->first; });
      write_gpus({part, end});
      part = end;
    }
    for (const auto& [bus, nic] : nics) write_nic(bus, nic);
    for (const std::size_t bridge : all.bridges) write_switch(bridge);
  }

  void open_pci(const std::string& bus, std::string_view pci_class, bool is_completed,
                const Fact<std::uint64_t>& mb_per_s) {
    xml_.open("pci");
    xml_.attribute("busid", bus);
    xml_.attribute("class", pci_class);
    const auto link = mb_per_s.is_known() ? pcie_link_of(*mb_per_s) : std::nullopt;
    if (!link && is_completed) return;
    xml_.attribute("link_speed", link ? link->speed : "");
    xml_.attribute("link_width", static_cast<std::uint64_t>(link ? link->width : 0));
  }
  void write_identity(const PciFunction& pci) {
    if (pci.vendor == 0) return;
    xml_.attribute("vendor", hexadecimal(pci.vendor));
    if (pci.device != 0) xml_.attribute("device", hexadecimal(pci.device));
  }

  void write_switch(std::size_t place) {
    const Bridge& bridge = host_.bridges[place];
    open_pci(bridge_addresses_[place], "0x060400", false, bridge.mb_per_s);
    write_devices(below_[place], BridgeKind::kSwitch);
    xml_.close();
  }

  std::string_view class_of_gpu() const { return is_of_amd_ ? "0x038000" : "0x030200"; }

  // The GPUs of one address, which are parts of one.
  void write_gpus(std::span<const std::pair<std::string, std::size_t>> parts) {
    const Gpu& first = host_.gpus[parts.front().second];
    open_pci(parts.front().first, class_of_gpu(), first.pci.bus.is_known(), first.pci.mb_per_s);
    write_identity(first.pci);
    for (std::size_t i = 0; i < parts.size(); ++i)
      write_gpu(parts[i].second, parts.size() > 1 ? std::optional(i) : std::nullopt);
    xml_.close();
  }

  void write_gpu(std::size_t place, std::optional<std::size_t> part) {
    const Gpu& gpu = host_.gpus[place];
    xml_.open("gpu");
    xml_.attribute("dev", number_of_driver(place));
    if (part) xml_.attribute("mlopart", std::uint64_t{*part});
    if (links_.has_elements(gpu.number)) {
      for (const GpuLink& link : host_.links) {
        if (link.gpu == gpu.number) write_link(link, link.peer);
        if (link.end == LinkEnd::kGpu && link.peer == gpu.number) write_link(link, link.gpu);
      }
    }
    xml_.close();
  }

  // NVML counts the parts of a GPU as one.
  std::uint64_t number_of_driver(std::size_t place) const {
    const std::set<std::string> others(gpu_addresses_.begin(),
                                       gpu_addresses_.begin() + static_cast<std::ptrdiff_t>(place));
    return others.size() - others.count(gpu_addresses_[place]);
  }

  void write_link(const GpuLink& link, int peer) {
    if (!links_.has_word(link)) return;
    const std::uint64_t count = NcclLinks::count_of(link);
    if (NcclLinks::has_rate(link)) {
      xml_.open("c2c");
      xml_.attribute("bw", *link.mb_per_s / count);
      xml_.attribute("count", count);
      xml_.close();
      return;
    }
    const bool is_gpu = link.end == LinkEnd::kGpu;
    xml_.open(link.kind == LinkKind::kXgmi ? "xgmi" : "nvlink");
    xml_.attribute("target", is_gpu
                                 ? std::string_view(gpu_addresses_[static_cast<std::size_t>(peer)])
                                 : kUnseen);
    xml_.attribute("count", count);
    xml_.attribute("tclass", is_gpu                         ? class_of_gpu()
                             : link.end == LinkEnd::kSwitch ? "0x068000"
                                                            : "0x068001");
    xml_.close();
  }

  // A NIC whose name is its address has no name.
  void write_nic(const std::string& bus, std::size_t place) {
    const Nic& nic = host_.nics[place];
    if (!bus.empty()) {
      open_pci(bus, nic.kind == NicKind::kInfiniband ? "0x020700" : "0x020000", false,
               nic.pci.mb_per_s);
      write_identity(nic.pci);
    }
    if (!nic.name.empty() && nic.name != bus) {
      xml_.open("nic");
      write_net(place);
      xml_.close();
    }
    if (!bus.empty()) xml_.close();
  }

  void write_net(std::size_t place) {
    const Nic& nic = host_.nics[place];
    xml_.open("net");
    xml_.attribute("name", nic.name);
    xml_.attribute("dev", std::uint64_t{place});
    if (nic.rate_mbit.is_known()) xml_.attribute("speed", *nic.rate_mbit);
    if (nic.port > 1) xml_.attribute("port", static_cast<std::uint64_t>(nic.port));
    if (const auto guid = nccl_guid_of(host_, nic)) xml_.attribute("guid", *guid);
    xml_.close();
  }

  const HostModel& host_;
  const NcclLinks links_;
  Xml xml_;
  std::vector<Below> below_;             // by bridge
  std::vector<std::size_t> stands_for_;  // by bridge: the one that is written
  std::vector<std::string> bridge_addresses_, gpu_addresses_;
  std::set<BusId> used_;
  unsigned made_up_ = 0;  // the number of the last address that is
  bool is_of_amd_ = false;
};

}  // namespace

std::string nccl_xml_text(const HostModel& host) {
  const HostModel whole = with_implied_tree(host);
  return Writer(whole).write();
}

}  // namespace paceline::topology
