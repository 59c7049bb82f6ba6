// NVIDIA's GPUs and their links, by the management library of the driver, loaded at run time.
#pragma once

#include <string>

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/nvml_library.h"

namespace paceline::topology {

/// The GPUs and their links and nothing else. kUnavailable where the library is not there or finds
/// no driver, which is so on any machine without such a GPU.
Result<HostModel> read_nvml(const std::string& library = kNvmlLibrary);

}  // namespace paceline::topology
