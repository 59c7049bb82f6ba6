// How the libraries that hwloc asks name GPUs, and what they say of each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// Types of OS devices in hwloc's version 2 (enum hwloc_obj_osdev_type_e).
enum class OsDevice : int { kGpu = 1, kNetwork = 2, kOpenFabrics = 3, kCoProcessor = 5 };

struct GpuLibrary {
  std::string_view prefix;  ///< of the names of its devices
  OsDevice type;
  const char* subtype;
  const char* memory;  ///< the info that has it, in KiB
  const char* uuid;
};

/// The library that names a device so; null if hwloc knows none.
const GpuLibrary* gpu_library_of(std::string_view name);

/// The names of a GPU that hwloc knows. If it knows none, the one that the vendor's library would
/// use. Empty for a GPU of which only the address is known.
std::vector<std::string> hwloc_names_of(const Gpu& gpu);

}  // namespace paceline::topology
