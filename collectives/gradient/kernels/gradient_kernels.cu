// The functions that devices run. Their source is in the headers of this folder.
#include "collectives/gradient/kernels/halves.h"
#include "collectives/gradient/kernels/look.h"

#define PACELINE_FUNCTION(name, function, Arguments)                           \
  extern "C" __global__ void __launch_bounds__(paceline::kKernelLanes)         \
      name(const paceline::on_device::Arguments arguments) {                   \
    __shared__ paceline::on_device::Shared shared;                             \
    paceline::on_device::function(paceline::DeviceBlock(), arguments, shared); \
  }

PACELINE_FUNCTION(paceline_look_float16, look<paceline::Float16>, LookArguments)
PACELINE_FUNCTION(paceline_look_bfloat16, look<paceline::BFloat16>, LookArguments)
PACELINE_FUNCTION(paceline_look_float32, look<float>, LookArguments)
PACELINE_FUNCTION(paceline_look_float64, look<double>, LookArguments)

#define PACELINE_HALVES(name, Half)                                                         \
  PACELINE_FUNCTION(paceline_encode_##name, encode_halves<paceline::Half>, EncodeArguments) \
  PACELINE_FUNCTION(paceline_sum_##name, sum_halves<paceline::Half>, SumArguments)          \
  PACELINE_FUNCTION(paceline_decode_##name, decode_halves<paceline::Half>, DecodeArguments)

PACELINE_HALVES(fp16, Float16)
PACELINE_HALVES(bf16, BFloat16)
