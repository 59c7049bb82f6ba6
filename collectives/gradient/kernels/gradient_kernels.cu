// The functions that devices run. Their source is in the headers of this folder.
#include "collectives/gradient/kernels/halves.h"
#include "collectives/gradient/kernels/list.h"
#include "collectives/gradient/kernels/look.h"

using namespace paceline;
using namespace paceline::on_device;

#define PACELINE_FUNCTION(name, function, Arguments)         \
  extern "C" __global__ void __launch_bounds__(kKernelLanes) \
      paceline_##name(const Arguments arguments) {           \
    __shared__ Shared shared;                                \
    function(DeviceBlock(), arguments, shared);              \
  }

PACELINE_GRADIENT_KERNELS(PACELINE_FUNCTION)
