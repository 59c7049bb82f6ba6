#include "topology/render/hwloc_names.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "topology/model/pci_vendors.h"

namespace paceline::topology {
namespace {

// hwloc states a UUID of NVML, and not of CUDA, which names the same GPU.
constexpr std::array<GpuLibrary, 7> kLibraries = {{
    {"cuda", OsDevice::kCoProcessor, "CUDA", "CUDAGlobalMemorySize", "NVIDIAUUID"},
    {"nvml", OsDevice::kGpu, "NVML", nullptr, "NVIDIAUUID"},
    {"rsmi", OsDevice::kGpu, "RSMI", "RSMIVRAMSize", "AMDUUID"},
    {"ze", OsDevice::kCoProcessor, "LevelZero", "LevelZeroHBMSize", "LevelZeroUUID"},
    {"opencl", OsDevice::kCoProcessor, "OpenCL", nullptr, nullptr},
    {"card", OsDevice::kGpu, nullptr, nullptr, nullptr},
    {"renderD", OsDevice::kGpu, nullptr, nullptr, nullptr},
}};

}  // namespace

const GpuLibrary* gpu_library_of(std::string_view name) {
  const auto found = std::ranges::find_if(kLibraries, [&](const GpuLibrary& library) {
    const std::size_t size = library.prefix.size();
    return name.starts_with(library.prefix) && name.size() > size &&
           std::string_view("0123456789").find(name[size]) != std::string_view::npos;
  });
  return found == kLibraries.end() ? nullptr : &*found;
}

std::vector<std::string> hwloc_names_of(const Gpu& gpu) {
  std::vector<std::string> names;
  for (const std::string& name : gpu.names)
    if (gpu_library_of(name) != nullptr) names.push_back(name);
  if (gpu_library_of(gpu.name) != nullptr && std::ranges::find(names, gpu.name) == names.end())
    names.push_back(gpu.name);
  const bool is_bare = gpu.pci.bus.is_known() && gpu.name == to_text(*gpu.pci.bus);
  if (!names.empty() || is_bare) return names;
  const char* const prefix = gpu.pci.vendor == kAmd     ? "rsmi"
                             : gpu.pci.vendor == kIntel ? "ze"
                                                        : "cuda";
  return {prefix + std::to_string(gpu.number)};
}

}  // namespace paceline::topology
