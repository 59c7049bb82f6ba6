// hwloc shows each port of a PCIe switch as a bridge:
//
//   host bridge
//     root port                level 1
//       upstream port          level 2   <- the switch
//         downstream port      level 3
//           GPU
//         downstream port      level 3
//           upstream port      level 4   <- the next switch
//
// So the even levels are switches. A port of an odd level is one where several devices share it.
#include "topology/read/hwloc_pci.h"

#include <cstddef>
#include <cstdint>
#include <set>

#include "topology/read/hwloc_cpus.h"

namespace paceline::topology {
namespace {

Fact<std::uint64_t> speed(const HwlocPci& pci) {
  if (pci.mb_per_s == 0) return {};
  return {.value = pci.mb_per_s, .source = 0};
}

class Bridges {
 public:
  Bridges(const HwlocTree& tree, const std::vector<int>& objects, HostModel& host)
      : tree_(tree), host_(host), seen_(tree.objects.size()), devices_(tree.objects.size()) {
    // Several GPUs may be of one object.
    for (const int object : std::set<int>(objects.begin(), objects.end()))
      if (const int parent = tree.at(object).parent; parent != kNone)
        ++devices_[static_cast<std::size_t>(parent)];
  }

  // The place of the bridge that `object` is or is below of. Objects are nested at most
  // XmlDocument::kMostDepth deep.
  int bridge_at(int object) { return look(object).bridge; }

 private:
  struct Seen {
    bool is_done = false;
    int bridge = kNone;
    int level = 0;
  };

  Seen look(int object) {
    if (object == kNone) return {};
    Seen& seen = seen_[static_cast<std::size_t>(object)];
    if (!seen.is_done) seen = look_first(object);
    return seen;
  }

  Seen look_first(int object) {
    const HwlocObject& here = tree_.at(object);
    if (here.type == HwlocType::kHostBridge) return {.is_done = true, .bridge = add_host(object)};
    if (here.type < HwlocType::kHostBridge && here.cpus) return {.is_done = true};
    Seen seen = look(here.parent);
    seen.is_done = true;
    if (here.type != HwlocType::kPciBridge) return seen;
    ++seen.level;
    const bool is_shared = devices_[static_cast<std::size_t>(object)] > 1;
    if (seen.level % 2 != 0 && !is_shared) return seen;
    // Some files keep ports and leave out the host bridge above them.
    if (seen.bridge == kNone) seen.bridge = add_host(object);
    host_.bridges.push_back({.kind = BridgeKind::kSwitch,
                             .bus = is_made_up(here.pci.bus) ? Fact<BusId>() : known(here.pci.bus),
                             .parent = seen.bridge,
                             .mb_per_s = speed(here.pci)});
    seen.bridge = last();
    return seen;
  }

  int add_host(int object) {
    host_.bridges.push_back({.near = near_of(tree_, object, host_)});
    return last();
  }

  int last() const { return static_cast<int>(host_.bridges.size()) - 1; }

  const HwlocTree& tree_;
  HostModel& host_;
  std::vector<Seen> seen_;    // by object
  std::vector<int> devices_;  // GPUs and NICs directly below, by object
};

}  // namespace

std::vector<PciFunction> add_hwloc_bridges(const HwlocTree& tree, const std::vector<int>& objects,
                                           HostModel& host) {
  Bridges bridges(tree, objects, host);
  std::vector<PciFunction> functions;
  for (const int at : objects) {
    const HwlocObject& object = tree.at(at);
    PciFunction function;
    if (object.type == HwlocType::kPciDevice)
      function = {.bus = {.value = object.pci.bus, .source = 0},
                  .vendor = object.pci.vendor,
                  .device = object.pci.device,
                  .bridge = bridges.bridge_at(object.parent),
                  .mb_per_s = speed(object.pci)};
    functions.push_back(function);
  }
  return functions;
}

}  // namespace paceline::topology
