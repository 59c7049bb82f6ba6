#include "topology/read/merge.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "topology/model/finish.h"
#include "topology/path/path.h"

namespace paceline::topology {
namespace {

std::string word(const std::string& text) { return text; }
std::string word(std::uint64_t number) { return std::to_string(number); }
std::string word(bool is_so) { return is_so ? "yes" : "no"; }
std::string word(const Gid& gid) { return gid.text; }
std::string word(const BusId& bus) { return to_text(bus); }
std::string word(const Place& place) {
  std::vector<std::string> nodes;
  for (const int node : place.numa_nodes) nodes.push_back(std::to_string(node));
  return nodes.empty() ? "CPUs " + place.cpus.to_text() : "NUMA node " + list_text(nodes);
}

bool agree(const std::string& a, const std::string& b) { return a == b; }
// What is measured in two places is rounded in two ways.
bool agree(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kOneIn = 50;
  return std::max(a, b) - std::min(a, b) <= std::max(a, b) / kOneIn;
}
bool agree(bool a, bool b) { return a == b; }
bool agree(const Gid& a, const Gid& b) { return a.text == b.text; }
bool agree(const BusId& a, const BusId& b) { return a == b; }
// One may know the CPUs only, or say the cache where the other says the node.
bool agree(const Place& a, const Place& b) {
  return a.numa_nodes.empty() || b.numa_nodes.empty() || a.numa_nodes == b.numa_nodes;
}

class Merging {
 public:
  Merging(HostModel& into, const HostModel& from)
      : into_(into), from_(from), offset_(static_cast<int>(into.sources.size())) {
    into_.sources.insert(into_.sources.end(), from.sources.begin(), from.sources.end());
    for (const Warning& warning : from.warnings)
      into_.warnings.push_back({warning.text, shifted(warning.source)});
  }

  void run() {
    names();
    cpus();
    const bool takes_tree = into_.bridges.empty() && !from_.bridges.empty();
    if (takes_tree) take_bridges();
    match_gpus(takes_tree);
    match_nics(takes_tree);
    if (!takes_tree) compare_paths();
    links();
    if (into_.bridges.empty() && into_.stated.empty()) take_stated();
  }

 private:
  static constexpr std::size_t kMostPaths = 64;  // of which differences are told

  int shifted(SourceIndex source) const { return source == kNobody ? kNobody : source + offset_; }
  void warn(std::string text) { into_.warnings.push_back({std::move(text), offset_}); }
  const std::string& theirs() const { return from_.sources.front(); }

  template <class T>
  Fact<T> taken(const Fact<T>& fact) const {
    return {.value = fact.value, .source = shifted(fact.source)};
  }

  template <class T>
  void learn(Fact<T>& known, const Fact<T>& said, const std::string& what) {
    if (!said.is_known()) return;
    if (!known.is_known()) {
      known = taken(said);
    } else if (!agree(*known, *said)) {
      warn(what + ": " + word(*known) + " (" + source_of(known.source) + ") or " + word(*said) +
           " (" + source_of(shifted(said.source)) + ")");
    }
  }

  std::string source_of(SourceIndex source) const {
    return source == kNobody ? "source unknown" : into_.sources[static_cast<std::size_t>(source)];
  }

  void names() {
    for (const auto field : {&HostModel::name, &HostModel::product, &HostModel::architecture})
      if ((into_.*field).empty()) into_.*field = from_.*field;
    if (!into_.processor.is_known()) into_.processor = taken(from_.processor);
    if (!from_.architecture.empty() && into_.architecture != from_.architecture)
      warn("architecture: " + into_.architecture + " or " + from_.architecture + " (" + theirs() +
           ")");
  }

  void cpus() {
    if (into_.cpus.is_empty()) {
      into_.cpus = from_.cpus;
      into_.withheld = from_.withheld;
    }
    if (into_.packages.empty()) into_.packages = from_.packages;
    if (into_.caches.empty()) into_.caches = from_.caches;
    if (into_.cores.empty()) into_.cores = from_.cores;
    if (into_.numa_nodes.empty()) {
      into_.numa_nodes = from_.numa_nodes;
    } else if (!from_.numa_nodes.empty()) {
      compare_nodes();
    }
  }

  void compare_nodes() {
    const auto ours = cpu_nodes(into_), others = cpu_nodes(from_);
    if (ours.size() != others.size())
      return warn("NUMA nodes: " + std::to_string(ours.size()) + " or " +
                  std::to_string(others.size()) + " (" + theirs() + ")");
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (ours[i].number == others[i].number && ours[i].cpus == others[i].cpus) continue;
      warn("NUMA node " + std::to_string(ours[i].number) + ": CPUs " + ours[i].cpus.to_text() +
           ", or node " + std::to_string(others[i].number) + " with " + others[i].cpus.to_text() +
           " (" + theirs() + ")");
    }
  }

  void take_bridges() {
    for (Bridge bridge : from_.bridges) {
      bridge.bus = taken(bridge.bus);
      bridge.mb_per_s = taken(bridge.mb_per_s);
      bridge.near = taken(bridge.near);
      into_.bridges.push_back(std::move(bridge));
    }
  }

  void learn_pci(PciFunction& known, const PciFunction& said, const std::string& what,
                 bool takes_tree) {
    learn(known.bus, said.bus, what + ": bus id");
    learn(known.mb_per_s, said.mb_per_s, what + ": MB/s of its PCIe link");
    if (known.vendor == 0) known.vendor = said.vendor;
    if (known.device == 0) known.device = said.device;
    if (takes_tree) known.bridge = said.bridge;
  }

  static bool same_bus(const PciFunction& a, const PciFunction& b) {
    return a.bus.is_known() && b.bus.is_known() && *a.bus == *b.bus;
  }
  static bool lacks_bus(const PciFunction& a, const PciFunction& b) {
    return !a.bus.is_known() || !b.bus.is_known();
  }

  // One that has not been taken before: a source may have two devices at one address.
  template <class Device, class IsSame>
  static int take(const std::vector<Device>& list, std::vector<bool>& is_taken, IsSame is_same) {
    is_taken.resize(list.size());
    for (std::size_t place = 0; place < list.size(); ++place) {
      if (is_taken[place] || !is_same(list[place])) continue;
      is_taken[place] = true;
      return static_cast<int>(place);
    }
    return kNone;
  }

  void match_gpus(bool takes_tree) {
    const std::size_t before = into_.gpus.size();
    for (const Gpu& gpu : from_.gpus) {
      int place = take(into_.gpus, is_gpu_taken_, [&](const Gpu& ours) {
        return same_bus(ours.pci, gpu.pci) ||
               (lacks_bus(ours.pci, gpu.pci) && ours.number == gpu.number);
      });
      if (place == kNone) {
        place = static_cast<int>(into_.gpus.size());
        into_.gpus.push_back({.number = place, .name = gpu.name, .parts = gpu.parts});
        is_gpu_taken_.resize(into_.gpus.size(), true);
        if (before != 0) warn("GPU " + gpu.name + ": only " + theirs() + " reports it");
      }
      gpu_places_.push_back(place);
      learn_gpu(into_.gpus[static_cast<std::size_t>(place)], gpu, takes_tree);
    }
    if (from_.gpus.empty()) return;
    for (std::size_t i = 0; i < before; ++i)
      if (std::ranges::find(gpu_places_, static_cast<int>(i)) == gpu_places_.end())
        warn("GPU " + into_.gpus[i].name + ": " + theirs() + " does not report it");
  }

  void learn_gpu(Gpu& known, const Gpu& said, bool takes_tree) {
    const std::string what = "GPU " + known.name;
    for (const std::string& name : said.names)
      if (std::ranges::find(known.names, name) == known.names.end()) known.names.push_back(name);
    learn_pci(known.pci, said.pci, what, takes_tree);
    learn(known.near, said.near, what + " is near");
    learn(known.memory_bytes, said.memory_bytes, what + ": bytes of memory");
    learn(known.uuid, said.uuid, what + ": UUID");
    // Each source has words of its own for one model.
    if (!known.model.is_known()) known.model = taken(said.model);
  }

  void match_nics(bool takes_tree) {
    const std::size_t before = into_.nics.size();
    for (const Nic& nic : from_.nics) {
      int place = take(into_.nics, is_nic_taken_, [&](const Nic& ours) {
        return same_bus(ours.pci, nic.pci) ||
               (lacks_bus(ours.pci, nic.pci) && ours.name == nic.name);
      });
      if (place == kNone) {
        place = static_cast<int>(into_.nics.size());
        into_.nics.push_back({.name = nic.name});
        is_nic_taken_.resize(into_.nics.size(), true);
        if (before != 0) warn("NIC " + nic.name + ": only " + theirs() + " reports it");
      }
      nic_places_.push_back(place);
      learn_nic(into_.nics[static_cast<std::size_t>(place)], nic, takes_tree);
    }
  }

  void learn_nic(Nic& known, const Nic& said, bool takes_tree) {
    const std::string what = "NIC " + known.name;
    // The name of the RDMA device counts more than that of its interface.
    if (said.has_rdma && !known.has_rdma) {
      known.name = said.name;
      known.has_rdma = true;
    }
    for (const std::string& name : said.interfaces)
      if (std::ranges::find(known.interfaces, name) == known.interfaces.end())
        known.interfaces.push_back(name);
    std::ranges::sort(known.interfaces);
    // Who guesses by a name says less than who has asked the port.
    const bool says_port = said.kind != NicKind::kUnknown && said.rate_mbit.is_known();
    if (known.kind == NicKind::kUnknown || says_port)
      known.kind = said.kind == NicKind::kUnknown ? known.kind : said.kind;
    learn_pci(known.pci, said.pci, what, takes_tree);
    learn(known.near, said.near, what + " is near");
    if (said.is_up.is_known() && !known.is_up.is_known()) known.port = said.port;
    learn(known.is_up, said.is_up, what + " is up");
    learn(known.rate_mbit, said.rate_mbit, what + ": Mbit/s");
    learn(known.gid, said.gid, what + ": GID");
    learn(known.guid, said.guid, what + ": GUID");
  }

  DeviceRef ours(DeviceRef device) const {
    const auto place = static_cast<std::size_t>(device.place);
    const auto& places = device.kind == DeviceKind::kGpu ? gpu_places_ : nic_places_;
    return {device.kind, places[place]};
  }

  std::string name_of(DeviceRef device) const {
    const auto place = static_cast<std::size_t>(device.place);
    return device.kind == DeviceKind::kGpu ? into_.gpus[place].name : into_.nics[place].name;
  }

  std::vector<DeviceRef> their_devices() const {
    std::vector<DeviceRef> all;
    for (std::size_t i = 0; i < from_.gpus.size(); ++i)
      all.push_back({DeviceKind::kGpu, static_cast<int>(i)});
    for (std::size_t i = 0; i < from_.nics.size(); ++i)
      all.push_back({DeviceKind::kNic, static_cast<int>(i)});
    return all;
  }

  // Two sources that both know how devices are joined.
  void compare_paths() {
    if (from_.bridges.empty() && from_.stated.empty()) return;
    const std::vector<DeviceRef> devices = their_devices();
    std::size_t told = 0;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      for (std::size_t j = 0; j < i && told < kMostPaths; ++j) {
        const DeviceRef a = ours(devices[j]), b = ours(devices[i]);
        const PathKind known = path_between(into_, a, b).kind;
        const PathKind said = path_between(from_, devices[j], devices[i]).kind;
        if (known == said || known == PathKind::kNvl || said == PathKind::kNvl) continue;
        ++told;
        warn(name_of(a) + " to " + name_of(b) + ": " + std::string(word_of(known)) + " or " +
             std::string(word_of(said)) + " (" + theirs() + ")");
      }
    }
  }

  bool has_links() const { return !into_.links.empty(); }

  void links() {
    if (!has_links()) return take_links();
    for (const GpuLink& link : their_links()) {
      const bool is_known = std::ranges::any_of(into_.links, [&](const GpuLink& known) {
        return known.gpu == link.gpu && known.end == link.end && known.peer == link.peer &&
               (known.count == link.count || known.count == 0 || link.count == 0);
      });
      if (!is_known)
        warn("links of GPU " + std::to_string(link.gpu) + ": " + theirs() + " reports " +
             std::to_string(link.count) + " to " +
             (link.end == LinkEnd::kGpu ? "GPU " + std::to_string(link.peer) : "another end"));
    }
  }

  // In the numbers of this host; what a matrix states counts as well.
  std::vector<GpuLink> their_links() const {
    std::vector<GpuLink> all = from_.links;
    for (GpuLink& link : all) {
      link.gpu = gpu_places_[static_cast<std::size_t>(link.gpu)];
      if (link.end == LinkEnd::kGpu) link.peer = gpu_places_[static_cast<std::size_t>(link.peer)];
      if (link.end == LinkEnd::kGpu && link.peer < link.gpu) std::swap(link.gpu, link.peer);
      link.mb_per_s = taken(link.mb_per_s);
    }
    // Without bridges its stated paths are taken as they are.
    if (into_.bridges.empty()) return all;
    for (const StatedPath& path : from_.stated) {
      if (path.kind != PathKind::kNvl) continue;
      const int a = ours(path.a).place, b = ours(path.b).place;
      all.push_back({.gpu = std::min(a, b), .peer = std::max(a, b), .count = path.links});
    }
    return all;
  }

  void take_links() {
    for (const GpuLink& link : their_links())
      if (link.end != LinkEnd::kPackage || link.peer < static_cast<int>(into_.packages.size()))
        into_.links.push_back(link);
  }

  void take_stated() {
    for (StatedPath path : from_.stated) {
      path.a = ours(path.a);
      path.b = ours(path.b);
      into_.stated.push_back(path);
    }
  }

  HostModel& into_;
  const HostModel& from_;
  const int offset_;
  std::vector<int> gpu_places_, nic_places_;  // of theirs, in into_
  std::vector<bool> is_gpu_taken_, is_nic_taken_;
};

}  // namespace

Result<HostModel> merge(HostModel into, const HostModel& from) {
  Merging(into, from).run();
  return finish(std::move(into), kNobody);
}

}  // namespace paceline::topology
