#include "topology/read/hwloc_gpus.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "comm/base/text.h"
#include "topology/model/pci_vendors.h"
#include "topology/read/bounds.h"
#include "topology/read/hwloc_cpus.h"
#include "topology/read/hwloc_gpu_facts.h"
#include "topology/read/hwloc_gpu_names.h"
#include "topology/read/hwloc_memory.h"

namespace paceline::topology {
namespace {

constexpr std::uint16_t kVga = 0x0300, kDisplay = 0x0380, k3d = 0x0302, kAccelerator = 0x1200;

bool is_processor_graphics(const HwlocPci& pci) {
  constexpr BusId kAlways{.domain = 0, .bus = 0, .device = 2, .function = 0};
  return pci.vendor == kIntel && pci.bus == kAlways;
}

bool has_compute_device(const HwlocTree& tree, int place) {
  for (int at = place + 1; at < tree.at(place).end; ++at) {
    if (tree.at(at).type != HwlocType::kOsDevice) continue;
    const auto name = parse_gpu_name(tree.at(at).name());
    if (name && name->is_compute()) return true;
  }
  return false;
}

// A GPU of class 0300 has a render node of DRM or an OpenCL device. The display of a management
// controller (ASPEED, Matrox, an old ATI) has neither.
bool can_render(const HwlocTree& tree, int place) {
  return std::ranges::any_of(os_devices_of(tree, place), [&](int at) {
    const HwlocObject& device = tree.at(at);
    if (device.subtype() == "OpenCL") return info_of(device.node, "OpenCLDeviceType") == "GPU";
    return device.name().starts_with("renderD");
  });
}

bool is_gpu(const HwlocTree& tree, int place) {
  const HwlocPci& pci = tree.at(place).pci;
  if (is_processor_graphics(pci)) return false;
  if (has_compute_device(tree, place)) return true;
  if (pci.vendor != kNvidia && pci.vendor != kAmd && pci.vendor != kIntel) return false;
  if (pci.kind == kVga) return pci.vendor == kNvidia || can_render(tree, place);
  return pci.kind == k3d || pci.kind == kDisplay || pci.kind == kAccelerator;
}

// Where hwloc could not see PCI, as in some containers, each interface knows all GPUs.
std::vector<int> find_without_pci(const HwlocTree& tree) {
  for (std::size_t interface = 0; interface < kGpuInterfaceNames.size(); ++interface) {
    std::vector<int> found;
    for (int at = 0; at < tree.size(); ++at) {
      const HwlocObject& object = tree.at(at);
      if (object.type != HwlocType::kOsDevice || object.parent == kNone) continue;
      if (tree.at(object.parent).type >= HwlocType::kHostBridge) continue;
      const auto name = parse_gpu_name(object.name());
      if (name && name->is_compute() && static_cast<std::size_t>(name->interface) == interface)
        found.push_back(at);
    }
    if (!found.empty()) return found;
  }
  return {};
}

// A GPU with the names of its OS devices, before it has a number.
struct Known {
  int object = kNone;
  std::vector<int> devices;                                           // its OS devices
  std::array<std::optional<int>, kGpuInterfaceNames.size()> numbers;  // the lowest, by interface
  std::vector<std::string> names;
  std::string name;
  int parts = 1;
};

// The number of a whole device of an interface that programs compute with.
std::optional<GpuName> whole_device(const HwlocTree& tree, int device) {
  const auto name = parse_gpu_name(tree.at(device).name());
  return name && name->is_compute() && !name->is_part ? name : std::nullopt;
}

// The numbers of one function's devices, by interface. Level Zero shows the tiles of a GPU as
// devices of their own in its flat mode: ze0 and ze1.
using Numbers = std::array<std::vector<int>, kGpuInterfaceNames.size()>;
Numbers numbers_of(const HwlocTree& tree, const std::vector<int>& devices) {
  Numbers numbers;
  for (const int device : devices)
    if (const auto name = whole_device(tree, device))
      numbers[static_cast<std::size_t>(name->interface)].push_back(name->number);
  for (std::vector<int>& list : numbers) std::ranges::sort(list);
  return numbers;
}

Known known_of(const HwlocTree& tree, int object, std::vector<int> devices) {
  Known known{.object = object, .devices = std::move(devices)};
  int tiles = 0;
  for (const int at : known.devices) {
    const std::string name(tree.at(at).name());
    const auto gpu = parse_gpu_name(name);
    if (gpu && gpu->is_part) {
      ++tiles;
      continue;
    }
    known.names.push_back(name);
    if (!gpu) continue;
    std::optional<int>& number = known.numbers[static_cast<std::size_t>(gpu->interface)];
    number = std::min(number.value_or(gpu->number), gpu->number);
  }
  known.parts = std::max(known.parts, tiles);
  known.name = to_text(tree.at(object).pci.bus);
  for (std::size_t i = kGpuInterfaceNames.size(); i-- > 0;)
    if (known.numbers[i])
      known.name = std::string(kGpuInterfaceNames[i]) + std::to_string(*known.numbers[i]);
  return known;
}

// Adds the GPUs of one function: one, or as many as an interface shows devices. Devices of an
// interface that shows fewer belong to each of them.
void add_known(const HwlocTree& tree, int object, std::vector<Known>& all) {
  const std::vector<int> devices = os_devices_of(tree, object);
  const Numbers numbers = numbers_of(tree, devices);
  std::size_t count = 1;
  for (const std::vector<int>& list : numbers) count = std::max(count, list.size());
  for (std::size_t part = 0; part < count && all.size() <= kMostGpus; ++part) {
    std::vector<int> own = devices;
    std::erase_if(own, [&](int device) {
      const auto name = whole_device(tree, device);
      if (!name) return false;
      const std::vector<int>& list = numbers[static_cast<std::size_t>(name->interface)];
      return list.size() == count && list[part] != name->number;
    });
    all.push_back(known_of(tree, object, std::move(own)));
  }
}

// The first interface that knows all of them, else the first that knows any. A DRM card's number
// says nothing: cards are counted as drivers come.
std::optional<std::size_t> interface_of(const std::vector<Known>& all) {
  constexpr auto kDrm = static_cast<std::size_t>(GpuInterface::kDrm);
  std::optional<std::size_t> any;
  for (std::size_t i = 0; i < kDrm; ++i) {
    const auto known =
        std::ranges::count_if(all, [&](const Known& gpu) { return gpu.numbers[i].has_value(); });
    if (known == static_cast<std::ptrdiff_t>(all.size())) return i;
    if (known > 0 && !any) any = i;
  }
  return any;
}

// What a maker's driver leaves out, beside others of the same maker, no program can use: boards
// that it no longer knows.
void leave_out_unusable(const HwlocTree& tree, std::size_t interface, std::vector<Known>& all,
                        HostModel& host) {
  std::set<std::uint16_t> makers;
  for (const Known& gpu : all)
    if (gpu.numbers[interface]) makers.insert(tree.at(gpu.object).pci.vendor);
  std::erase_if(all, [&](const Known& gpu) {
    const bool is_known = gpu.numbers[interface].has_value();
    if (is_known || !makers.contains(tree.at(gpu.object).pci.vendor)) return false;
    host.warnings.push_back({"GPU " + printable(gpu.name) + " is unknown to " +
                                 std::string(kGpuInterfaceNames[interface]) +
                                 ", which reports other GPUs; it is ignored",
                             0});
    return true;
  });
}

// By the interface's numbers, and by PCI address what it does not know: other makers' GPUs.
void order(const HwlocTree& tree, std::vector<Known>& all, HostModel& host) {
  const auto interface = interface_of(all);
  if (interface) leave_out_unusable(tree, *interface, all, host);
  const auto number_of = [&](const Known& gpu) {
    return interface ? gpu.numbers[*interface] : std::nullopt;
  };
  std::ranges::stable_sort(all, {}, [&](const Known& gpu) {
    return std::tuple(!number_of(gpu), number_of(gpu).value_or(0), tree.at(gpu.object).pci.bus);
  });
}

Gpu gpu_of(const HwlocTree& tree, Known known, HostModel& host) {
  Gpu gpu{.name = std::move(known.name),
          .names = std::move(known.names),
          .near = near_of(tree, known.object, host),
          .parts = known.parts};
  add_gpu_facts(tree, known.object, known.devices, gpu, host);
  return gpu;
}

}  // namespace

std::vector<int> find_hwloc_gpus(const HwlocTree& tree) {
  std::set<BusId> with_memory;
  for (const HwlocObject& object : tree.objects)
    if (const auto bus = gpu_of_memory(object)) with_memory.insert(*bus);
  std::vector<int> found;
  for (int at = 0; at < tree.size(); ++at) {
    if (tree.at(at).type != HwlocType::kPciDevice) continue;
    if (is_gpu(tree, at) || with_memory.contains(tree.at(at).pci.bus)) found.push_back(at);
  }
  return found.empty() ? find_without_pci(tree) : found;
}

Result<std::vector<int>> add_hwloc_gpus(const HwlocTree& tree, const std::vector<int>& objects,
                                        HostModel& host) {
  std::vector<Known> all;
  for (const int object : objects) {
    add_known(tree, object, all);
    if (all.size() > kMostGpus)
      return tree.document.wrong(tree.at(object).node,
                                 "more than " + std::to_string(kMostGpus) + " GPUs");
  }
  order(tree, all, host);
  std::vector<int> sorted;
  for (Known& known : all) {
    sorted.push_back(known.object);
    host.gpus.push_back(gpu_of(tree, std::move(known), host));
  }
  return sorted;
}

}  // namespace paceline::topology
