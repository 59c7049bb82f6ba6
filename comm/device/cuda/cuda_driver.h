// The calls of the CUDA driver that the module makes. They are found in the libcuda.so.1 that the
// process has loaded. The driver's interface is binary compatible from CUDA 11 on (CUDA Driver API,
// "Difference between the driver and runtime APIs"; CUDA Compatibility). So neither its headers nor
// its library are needed to build this. It works beside every version of the runtime library: both
// use the same contexts, streams and events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace paceline::cuda {

using Result = int;  // CUresult
using Context = struct CUctx_st*;
using Stream = struct CUstream_st*;
using Event = struct CUevent_st*;
using Module = struct CUmod_st*;
using Function = struct CUfunc_st*;
using Pointer = std::uintptr_t;  // CUdeviceptr
struct DeviceUuid {              // CUuuid
  char bytes[16];
};

constexpr Result kSuccess = 0;
constexpr Result kInvalidValue = 1;
constexpr Result kNotInitialized = 3;
constexpr Result kDeinitialized = 4;
constexpr Result kNoDevice = 100;
constexpr Result kInvalidContext = 201;
constexpr Result kNotReady = 600;
constexpr Result kCaptureIsImplicit = 906;

// CUpointer_attribute
constexpr int kPointerContext = 1;
constexpr int kPointerMemoryType = 2;
constexpr int kPointerIsManaged = 8;
constexpr int kPointerDeviceOrdinal = 9;
constexpr unsigned kMemoryTypeDevice = 2;

constexpr int kCaptureModeRelaxed = 2;
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kHostRegisterPortable = 1;

// Symbol of the library, and the member that calls it.
// clang-format off
#define PACELINE_CUDA_CALLS(call)                                                            \
  call(cuInit, init, (unsigned flags))                                                       \
  call(cuDriverGetVersion, driver_version, (int* version))                                   \
  call(cuDeviceGetCount, device_count, (int* count))                                         \
  call(cuDeviceGetUuid, device_uuid, (DeviceUuid* uuid, int device))                         \
  call(cuGetErrorString, error_string, (Result error, const char** text))                    \
  call(cuPointerGetAttribute, pointer_attribute,                                             \
       (void* data, int attribute, Pointer pointer))                                         \
  call(cuDevicePrimaryCtxRetain, retain_primary_context, (Context* context, int device))     \
  call(cuCtxGetCurrent, current_context, (Context* context))                                 \
  call(cuCtxPushCurrent_v2, push_context, (Context context))                                 \
  call(cuCtxPopCurrent_v2, pop_context, (Context* context))                                  \
  call(cuCtxGetDevice, context_device, (int* device))                                        \
  call(cuStreamCreate, create_stream, (Stream* stream, unsigned flags))                      \
  call(cuStreamDestroy_v2, destroy_stream, (Stream stream))                                  \
  call(cuStreamGetCtx, stream_context, (Stream stream, Context* context))                    \
  call(cuStreamIsCapturing, is_capturing, (Stream stream, int* status))                      \
  call(cuThreadExchangeStreamCaptureMode, exchange_capture_mode, (int* mode))                \
  call(cuStreamWaitEvent, wait_event, (Stream stream, Event event, unsigned flags))          \
  call(cuEventCreate, create_event, (Event* event, unsigned flags))                          \
  call(cuEventDestroy_v2, destroy_event, (Event event))                                      \
  call(cuEventRecord, record_event, (Event event, Stream stream))                            \
  call(cuEventQuery, query_event, (Event event))                                             \
  call(cuMemcpyAsync, copy, (Pointer to, Pointer from, std::size_t bytes, Stream stream))    \
  call(cuModuleLoadData, load_module, (Module* module, const void* image))                   \
  call(cuModuleGetFunction, find_function,                                                   \
       (Function* function, Module module, const char* name))                                \
  call(cuLaunchKernel, launch,                                                               \
       (Function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,          \
        unsigned lanes_x, unsigned lanes_y, unsigned lanes_z, unsigned shared_bytes,         \
        Stream stream, void** arguments, void** extra))                                      \
  call(cuMemAlloc_v2, allocate, (Pointer* memory, std::size_t bytes))                        \
  call(cuMemFree_v2, free, (Pointer memory))                                                 \
  call(cuMemHostRegister_v2, register_host, (void* memory, std::size_t bytes, unsigned flags)) \
  call(cuMemHostUnregister, unregister_host, (void* memory))
// clang-format on

struct Driver {
#define PACELINE_CUDA_MEMBER(symbol, member, parameters) Result(*member) parameters = nullptr;
  PACELINE_CUDA_CALLS(PACELINE_CUDA_MEMBER)
#undef PACELINE_CUDA_MEMBER

  /// False, and `why` says the reason, if the process has not loaded the library, or has loaded
  /// one that lacks a call.
  bool load(std::string& why);
};

}  // namespace paceline::cuda
