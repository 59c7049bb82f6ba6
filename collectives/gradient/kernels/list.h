// The kernels of this folder: the name, the function, and the struct of its arguments. Devices and
// drivers know a kernel as paceline_<name>.
#pragma once

// clang-format off
#define PACELINE_GRADIENT_KERNELS(kernel)                        \
  kernel(look_float16, look<Float16>, LookArguments)             \
  kernel(look_bfloat16, look<BFloat16>, LookArguments)           \
  kernel(look_float32, look<float>, LookArguments)               \
  kernel(look_float64, look<double>, LookArguments)              \
  kernel(encode_fp16, encode_halves<Float16>, EncodeArguments)   \
  kernel(sum_fp16, sum_halves<Float16>, SumArguments)            \
  kernel(decode_fp16, decode_halves<Float16>, DecodeArguments)   \
  kernel(encode_bf16, encode_halves<BFloat16>, EncodeArguments)  \
  kernel(sum_bf16, sum_halves<BFloat16>, SumArguments)           \
  kernel(decode_bf16, decode_halves<BFloat16>, DecodeArguments)
// clang-format on
