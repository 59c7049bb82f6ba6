// The kernels of this folder: the name, the function, and the struct of its arguments.
#pragma once

#define PACELINE_GRADIENT_KERNELS(kernel)                                                        \
  kernel(paceline_look_float16, look<Float16>, LookArguments)                                    \
      kernel(paceline_look_bfloat16, look<BFloat16>, LookArguments)                              \
          kernel(paceline_look_float32, look<float>, LookArguments)                              \
              kernel(paceline_look_float64, look<double>, LookArguments)                         \
                  kernel(paceline_encode_fp16, encode_halves<Float16>, EncodeArguments)          \
                      kernel(paceline_sum_fp16, sum_halves<Float16>, SumArguments) kernel(       \
                          paceline_decode_fp16, decode_halves<Float16>, DecodeArguments)         \
                          kernel(paceline_encode_bf16, encode_halves<BFloat16>, EncodeArguments) \
                              kernel(paceline_sum_bf16, sum_halves<BFloat16>, SumArguments)      \
                                  kernel(paceline_decode_bf16, decode_halves<BFloat16>,          \
                                         DecodeArguments)
