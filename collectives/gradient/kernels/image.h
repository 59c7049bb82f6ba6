// The kernels of this folder, compiled for devices, if nvcc was found when Paceline was built.
#pragma once

#include <paceline/status.h>

#include "comm/device/device.h"

namespace paceline {

/// Does this build have them?
bool has_gradient_kernels();
/// Loads them all, so that none is loaded later, during operations. Code::kUnavailable: this build
/// has none, or the device cannot run them, and why.
Status load_gradient_kernels(Device& device);
/// One of list.h.
Kernel gradient_kernel(const char* name);

}  // namespace paceline
