#include "topology/read/hwloc_gpu_facts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "comm/base/text.h"
#include "topology/read/hwloc_gpu_names.h"
#include "topology/read/hwloc_memory.h"

namespace paceline::topology {
namespace {

constexpr std::uint64_t kKib = 1024;

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};

// "16671616" and "16671616KiB" are the same.
std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::array<Unit, 5> kUnits = {
      {{"", kKib}, {"kB", kKib}, {"KiB", kKib}, {"MiB", kKib * kKib}, {"GiB", kKib * kKib * kKib}}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_number<std::uint64_t>(text.substr(0, digits));
  const auto unit = std::ranges::find(kUnits, text.substr(digits), &Unit::name);
  if (!number || unit == kUnits.end() || *number > UINT64_MAX / unit->bytes) return std::nullopt;
  return *number * unit->bytes;
}

// The first that any of the OS devices says under any of the names.
std::string first_info(const HwlocTree& tree, const std::vector<int>& devices,
                       std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    for (const int device : devices)
      if (std::string value = info_of(tree.at(device).node, name); !value.empty()) return value;
  return {};
}

class GpuMemory {
 public:
  GpuMemory(const HwlocTree& tree, const std::vector<int>& devices, HostModel& host)
      : tree_(tree), devices_(devices), host_(host) {}

  // Level Zero tells kinds of memory apart, and may say it of the parts only.
  std::uint64_t bytes() {
    for (const std::string_view name : {"CUDAGlobalMemorySize", "RSMIVRAMSize"})
      if (const std::uint64_t all = largest(name); all != 0) return all;
    for (const bool of_parts : {false, true})
      if (const std::uint64_t all = level_zero(of_parts); all != 0) return all;
    return largest("OpenCLGlobalMemorySize");
  }

 private:
  std::uint64_t size(int device, std::string_view name) {
    const std::string text = info_of(tree_.at(device).node, name);
    if (text.empty()) return 0;
    const auto bytes = parse_size(text);
    if (!bytes && !std::exchange(has_warned_, true))
      host_.warnings.push_back({printable(tree_.at(device).name()) + " states " +
                                    std::string(name) + " \"" + printable(text) +
                                    "\", which is not a size; ignored",
                                0});
    return bytes.value_or(0);
  }

  std::uint64_t largest(std::string_view name) {
    std::uint64_t most = 0;
    for (const int device : devices_) most = std::max(most, size(device, name));
    return most;
  }

  std::uint64_t level_zero(bool of_parts) {
    std::uint64_t sum = 0;
    for (const int device : devices_) {
      const auto name = parse_gpu_name(tree_.at(device).name());
      if (!name || name->interface != GpuInterface::kLevelZero || name->is_part != of_parts)
        continue;
      for (const std::string_view kind :
           {"LevelZeroHBMSize", "LevelZeroDDRSize", "LevelZeroMemorySize"})
        sum += size(device, kind);
    }
    return sum;
  }

  const HwlocTree& tree_;
  const std::vector<int>& devices_;
  HostModel& host_;
  bool has_warned_ = false;
};

std::uint64_t memory_of_node(const HwlocTree& tree, const BusId& bus) {
  for (const HwlocObject& object : tree.objects)
    if (gpu_of_memory(object) == bus) return object.node.attribute("local_memory").as_ullong();
  return 0;
}

template <class T>
Fact<T> fact(T value) {
  return value == T() ? Fact<T>() : known(std::move(value));
}

}  // namespace

std::vector<int> os_devices_of(const HwlocTree& tree, int object) {
  std::vector<int> devices;
  for (int at = object; at < tree.at(object).end; ++at)
    if (tree.at(at).type == HwlocType::kOsDevice) devices.push_back(at);
  return devices;
}

void add_gpu_facts(const HwlocTree& tree, int object, const std::vector<int>& devices, Gpu& gpu,
                   HostModel& host) {
  const HwlocObject& function = tree.at(object);
  std::string model = first_info(tree, devices, {"GPUModel", "LevelZeroModel"});
  if (model.empty()) model = info_of(function.node, "PCIDevice");
  gpu.model = fact(std::move(model));
  gpu.uuid = fact(first_info(tree, devices, {"NVIDIAUUID", "AMDUUID", "LevelZeroUUID"}));
  std::uint64_t bytes = GpuMemory(tree, devices, host).bytes();
  if (bytes == 0 && function.type == HwlocType::kPciDevice)
    bytes = memory_of_node(tree, function.pci.bus);
  gpu.memory_bytes = fact(bytes);
}

}  // namespace paceline::topology
