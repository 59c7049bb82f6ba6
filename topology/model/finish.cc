#include "topology/model/finish.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::topology {
namespace {

Status nowhere(const std::string& what) {
  return {Code::kInvalidArgument, Scope::kOperation, what + " does not exist"};
}

template <class List>
bool is_place(int place, const List& list) {
  return place >= 0 && static_cast<std::size_t>(place) < list.size();
}

// Numbers in names count as numbers: mlx5_2 is before mlx5_10.
bool is_before(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const auto digits = [](std::string_view text) {
      return std::min(text.find_first_not_of("0123456789"), text.size());
    };
    const std::size_t in_a = digits(a), in_b = digits(b);
    if (in_a > 0 && in_b > 0) {
      const auto value = [](std::string_view text) {
        const std::size_t zeros = std::min(text.find_first_not_of('0'), text.size());
        return std::pair(text.size() - zeros, text.substr(zeros));
      };
      if (const auto order = value(a.substr(0, in_a)) <=> value(b.substr(0, in_b)); order != 0)
        return order < 0;
      a.remove_prefix(in_a);
      b.remove_prefix(in_b);
    } else {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

// Sorts a list; where each element has come to lie: new place by old place.
template <class T, class Less>
std::vector<int> sort_list(std::vector<T>& list, Less less) {
  std::vector<std::size_t> order(list.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return less(list[a], list[b]); });
  std::vector<int> places(list.size());
  std::vector<T> sorted;
  for (const std::size_t old : order) {
    places[old] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(list[old]));
  }
  list = std::move(sorted);
  return places;
}

Status check_references(const HostModel& host) {
  for (std::size_t i = 0; i < host.bridges.size(); ++i) {
    const Bridge& bridge = host.bridges[i];
    const bool is_host = bridge.kind == BridgeKind::kHost;
    // A parent stands before its children, so there is no cycle.
    const bool leads =
        is_host ? bridge.parent == kNone
                : is_place(bridge.parent, host.bridges) && bridge.parent < static_cast<int>(i);
    if (!leads) return nowhere("the parent of PCIe bridge " + std::to_string(i));
  }
  const auto is_bridge = [&](int place) { return place == kNone || is_place(place, host.bridges); };
  for (const Gpu& gpu : host.gpus)
    if (!is_bridge(gpu.pci.bridge)) return nowhere("the PCIe bridge of GPU " + gpu.name);
  for (const Nic& nic : host.nics)
    if (!is_bridge(nic.pci.bridge)) return nowhere("the PCIe bridge of NIC " + nic.name);
  for (const GpuLink& link : host.links) {
    const bool leads = link.end == LinkEnd::kSwitch    ? link.peer == kNone
                       : link.end == LinkEnd::kPackage ? is_place(link.peer, host.packages)
                                                       : is_place(link.peer, host.gpus);
    if (!is_place(link.gpu, host.gpus) || !leads)
      return nowhere("an end of a link of GPU " + std::to_string(link.gpu));
  }
  for (const StatedPath& path : host.stated)
    for (const DeviceRef& end : {path.a, path.b})
      if (end.kind == DeviceKind::kGpu ? !is_place(end.place, host.gpus)
                                       : !is_place(end.place, host.nics))
        return nowhere("an end of a stated path");
  return {};
}

void clean(std::string& text) { text = printable(text); }
void clean(std::vector<std::string>& texts) {
  for (std::string& text : texts) clean(text);
}
void clean(Fact<std::string>& fact) {
  if (fact.is_known()) clean(*fact.value);
}

// Strangers have written them.
void clean_texts(HostModel& host) {
  for (std::string* const text : {&host.name, &host.product, &host.architecture}) clean(*text);
  if (host.processor.is_known()) clean(host.processor.value->vendor);
  clean(host.sources);
  for (Warning& warning : host.warnings) clean(warning.text);
  for (Package& package : host.packages) clean(package.cpu_model);
  for (Core& core : host.cores) clean(core.kind);
  for (Gpu& gpu : host.gpus) {
    clean(gpu.name);
    clean(gpu.names);
    clean(gpu.model);
    clean(gpu.uuid);
  }
  for (Nic& nic : host.nics) {
    clean(nic.name);
    clean(nic.interfaces);
    clean(nic.guid);
    if (nic.gid.is_known()) clean(nic.gid.value->text);
  }
}

void order_nics(HostModel& host) {
  const auto places = sort_list(host.nics, [](const Nic& a, const Nic& b) {
    if (a.name != b.name) return is_before(a.name, b.name);
    return a.pci.bus.value < b.pci.bus.value;
  });
  for (StatedPath& path : host.stated)
    for (DeviceRef* const end : {&path.a, &path.b})
      if (end->kind == DeviceKind::kNic) end->place = places[static_cast<std::size_t>(end->place)];
}

void order_packages(HostModel& host) {
  const auto places = sort_list(
      host.packages, [](const Package& a, const Package& b) { return a.number < b.number; });
  for (GpuLink& link : host.links)
    if (link.end == LinkEnd::kPackage) link.peer = places[static_cast<std::size_t>(link.peer)];
}

void order_links(HostModel& host) {
  for (GpuLink& link : host.links)
    if (link.end == LinkEnd::kGpu && link.peer < link.gpu) std::swap(link.gpu, link.peer);
  std::ranges::stable_sort(host.links, {}, [](const GpuLink& link) {
    return std::tuple(link.gpu, link.end, link.peer, link.kind);
  });
  for (StatedPath& path : host.stated)
    if (path.b < path.a) std::swap(path.a, path.b);
  std::ranges::stable_sort(host.stated, {},
                           [](const StatedPath& path) { return std::pair(path.a, path.b); });
}

void order_cpus(HostModel& host) {
  const auto by_first_cpu = [](const auto& a, const auto& b) {
    if (a.cpus.is_empty() || b.cpus.is_empty()) return a.cpus.is_empty() && !b.cpus.is_empty();
    return a.cpus.first() < b.cpus.first();
  };
  std::ranges::stable_sort(host.cores, by_first_cpu);
  std::ranges::stable_sort(host.caches, by_first_cpu);
  std::ranges::stable_sort(host.numa_nodes, {}, &NumaNode::number);
}

// Leaves out what has neither GPU nor NIC below it; a parent stands before its children already.
void prune_bridges(HostModel& host) {
  std::vector<bool> leads(host.bridges.size());
  const auto mark = [&](const PciFunction& pci) {
    for (int at = pci.bridge; at != kNone; at = host.bridges[static_cast<std::size_t>(at)].parent)
      leads[static_cast<std::size_t>(at)] = true;
  };
  for (const Gpu& gpu : host.gpus) mark(gpu.pci);
  for (const Nic& nic : host.nics) mark(nic.pci);

  std::vector<int> places(host.bridges.size(), kNone);
  const auto place_of = [&](int old) {
    return old == kNone ? kNone : places[static_cast<std::size_t>(old)];
  };
  std::vector<Bridge> kept;
  for (std::size_t i = 0; i < host.bridges.size(); ++i) {
    if (!leads[i]) continue;
    places[i] = static_cast<int>(kept.size());
    Bridge bridge = std::move(host.bridges[i]);
    bridge.parent = place_of(bridge.parent);
    kept.push_back(std::move(bridge));
  }
  host.bridges = std::move(kept);
  for (Gpu& gpu : host.gpus) gpu.pci.bridge = place_of(gpu.pci.bridge);
  for (Nic& nic : host.nics) nic.pci.bridge = place_of(nic.pci.bridge);
}

void fill_cpus(HostModel& host) {
  CpuSet all;
  for (const auto& node : host.numa_nodes) all.add(node.cpus);
  for (const auto& package : host.packages) all.add(package.cpus);
  for (const auto& core : host.cores) all.add(core.cpus);
  all.remove(host.withheld);
  if (host.cpus.is_empty()) host.cpus = all;
}

// The CPUs of a place follow from its NUMA nodes, and the nodes from the CPUs.
void fill_place(const HostModel& host, Fact<Place>& near) {
  if (!near.is_known()) return;
  Place& place = *near.value;
  std::ranges::sort(place.numa_nodes);
  if (place.numa_nodes.empty()) place.numa_nodes = numa_nodes_of(host, place.cpus);
  if (!place.cpus.is_empty()) return;
  for (const NumaNode& node : host.numa_nodes)
    if (std::ranges::binary_search(place.numa_nodes, node.number)) place.cpus.add(node.cpus);
}

// A device is where its host bridge is, unless its source knows better.
void fill_device(const HostModel& host, const PciFunction& pci, Fact<Place>& near) {
  int at = pci.bridge;
  while (at != kNone && host.bridges[static_cast<std::size_t>(at)].parent != kNone)
    at = host.bridges[static_cast<std::size_t>(at)].parent;
  if (!near.is_known() && at != kNone) near = host.bridges[static_cast<std::size_t>(at)].near;
  fill_place(host, near);
}

void fill_places(HostModel& host) {
  for (Bridge& bridge : host.bridges) fill_place(host, bridge.near);
  for (Gpu& gpu : host.gpus) fill_device(host, gpu.pci, gpu.near);
  for (Nic& nic : host.nics) fill_device(host, nic.pci, nic.near);
}

// ---- what is odd

class Warnings {
 public:
  Warnings(HostModel& host, SourceIndex source) : host_(host), source_(source) {}

  void find() {
    overlapping_nodes();
    uneven_nodes();
    packages_without_nodes();
    // Several GPUs at one address are parts of one device.
    for (const Gpu& gpu : host_.gpus) {
      if (gpu.pci.bus.is_known()) buses_.insert(*gpu.pci.bus);
      near_usable_cpus("GPU " + gpu.name, gpu.near);
    }
    for (const Nic& nic : host_.nics) {
      if (nic.pci.bus.is_known() && !buses_.insert(*nic.pci.bus).second)
        say("NIC " + nic.name + " has the same bus id as another device: " + to_text(*nic.pci.bus));
      near_usable_cpus("NIC " + nic.name, nic.near);
    }
  }

 private:
  // A model that is finished again, as after a merge, is told once.
  void say(std::string text) {
    const bool is_told = std::ranges::any_of(
        host_.warnings, [&](const Warning& warning) { return warning.text == text; });
    if (!is_told) host_.warnings.push_back({std::move(text), source_});
  }

  void overlapping_nodes() {
    bool is_told = false;
    CpuSet seen;
    for (NumaNode& node : host_.numa_nodes) {
      if (node.kind != MemoryKind::kOrdinary) continue;
      if (seen.has_any(node.cpus) && !std::exchange(is_told, true))
        say("NUMA node " + std::to_string(node.number) +
            " has CPUs of another node; the first node keeps them");
      node.cpus.remove(seen);
      seen.add(node.cpus);
    }
  }

  // One node that is shorter than all others, which are alike: its mask has been cut.
  void uneven_nodes() {
    if (!host_.withheld.is_empty()) return;
    std::map<int, std::vector<int>> by_count;
    for (const NumaNode& node : cpu_nodes(host_))
      by_count[node.cpus.count()].push_back(node.number);
    if (by_count.size() != 2 || by_count.begin()->second.size() != 1) return;
    const auto& [few, shorter] = *by_count.begin();
    const auto& [many, others] = *by_count.rbegin();
    say("NUMA node " + std::to_string(shorter.front()) + " has " + std::to_string(few) +
        " CPUs, but " + (others.size() == 1 ? "the other has " : "the others have ") +
        std::to_string(many) + "; the smaller CPU mask may be truncated");
  }

  void packages_without_nodes() {
    const auto nodes = std::ranges::count(host_.numa_nodes, MemoryKind::kOrdinary, &NumaNode::kind);
    if (host_.packages.size() > 1 && nodes == 1)
      say(std::to_string(host_.packages.size()) +
          " packages but one NUMA node; memory is taken as equally near to all CPUs");
  }

  void near_usable_cpus(const std::string& what, const Fact<Place>& near) {
    if (!near.is_known() || near->cpus.is_empty() || host_.cpus.is_empty()) return;
    if (!near->cpus.has_any(host_.cpus))
      say(what + " is near CPUs " + near->cpus.to_text() + ", but none of them may be used");
  }

  HostModel& host_;
  const SourceIndex source_;
  std::set<BusId> buses_;
};

}  // namespace

Result<HostModel> finish(HostModel host, SourceIndex source) {
  PACELINE_TRY(check_references(host));
  if (host.gpus.empty() && host.nics.empty() && host.cores.empty() && host.numa_nodes.empty() &&
      host.packages.empty() && host.cpus.is_empty())
    return Status(Code::kInvalidArgument, Scope::kOperation, "no CPU, GPU or NIC is described");
  for (std::size_t i = 0; i < host.gpus.size(); ++i) {
    host.gpus[i].number = static_cast<int>(i);
    std::ranges::sort(host.gpus[i].names);
  }
  clean_texts(host);
  prune_bridges(host);
  order_nics(host);
  order_packages(host);
  order_links(host);
  order_cpus(host);
  fill_cpus(host);
  fill_places(host);
  Warnings(host, source).find();
  return host;
}

}  // namespace paceline::topology
