// The kernels of this folder, compiled for devices, if nvcc was found when Paceline was built.
#pragma once

#include "comm/device/device.h"

namespace paceline {

/// Does this build have them?
bool has_gradient_kernels();
/// And can the device run them?
bool can_run_gradient_kernels(Device& device);
/// One of gradient_kernels.cu. Every image has all of them.
Kernel gradient_kernel(const char* name);

}  // namespace paceline
