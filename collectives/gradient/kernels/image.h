// The kernels of this folder, compiled for devices, if nvcc was found when Paceline was built.
#pragma once

#include <paceline/status.h>

#include "collectives/gradient/kernels/list.h"
#include "comm/device/device.h"

namespace paceline {

/// The kernels, by their names in list.h: GradientKernel::look_float32.
enum class GradientKernel {
#define PACELINE_NAME(name, function, Arguments) name,
  PACELINE_GRADIENT_KERNELS(PACELINE_NAME)
#undef PACELINE_NAME
};

/// Does this build have them?
bool has_gradient_kernels();
/// Loads them all, so that none is loaded later, during operations. Code::kUnavailable: this build
/// has none, or the device cannot run them, and why.
Status load_gradient_kernels(Device& device);
Kernel gradient_kernel(GradientKernel kernel);

}  // namespace paceline
