// The calls of NCCL that the module makes. They are found in the libnccl.so.2 that the process has
// loaded, or that the loader finds. They agree with the header of 2.28.9. Every version is used
// that exports what is needed here: ncclCommInitRankConfig came with 2.14.
//
// Source: NCCL's API reference; nccl.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "comm/device/device.h"

namespace paceline::cuda {

using NcclResult = int;  // ncclResult_t
using NcclComm = struct ncclComm*;

constexpr NcclResult kNcclSuccess = 0;
constexpr NcclResult kNcclUnhandledCudaError = 1;
constexpr NcclResult kNcclSystemError = 2;
constexpr NcclResult kNcclInternalError = 3;
constexpr NcclResult kNcclInvalidArgument = 4;
constexpr NcclResult kNcclInvalidUsage = 5;
constexpr NcclResult kNcclRemoteError = 6;
constexpr NcclResult kNcclInProgress = 7;

constexpr int kNcclScalarHostImmediate = 1;

struct NcclId {  // ncclUniqueId
  char internal[128];
};

// The fields of ncclConfig_t in NCCL 2.14. Later versions take the defaults of what they added.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
  int unused = INT32_MIN;  // later, cgaClusterSize: "undefined"
};

// Symbol of the library, and the member that calls it.
// clang-format off
#define PACELINE_NCCL_CALLS(call)                                                                 \
  call(ncclGetVersion, version, (int* version))                                                   \
  call(ncclGetUniqueId, make_id, (NcclId* id))                                                    \
  call(ncclCommInitRankConfig, join,                                                              \
       (NcclComm* comm, int ranks, NcclId id, int rank, NcclConfig* config))                      \
  call(ncclCommGetAsyncError, async_error, (NcclComm comm, NcclResult* error))                    \
  call(ncclCommAbort, abort, (NcclComm comm))                                                     \
  call(ncclCommDestroy, destroy, (NcclComm comm))                                                 \
  call(ncclGroupStart, group_start, ())                                                           \
  call(ncclGroupEnd, group_end, ())                                                               \
  call(ncclRedOpCreatePreMulSum, make_factor,                                                     \
       (int* op, void* scalar, int type, int residence, NcclComm comm))                           \
  call(ncclRedOpDestroy, destroy_factor, (int op, NcclComm comm))                                 \
  call(ncclAllReduce, all_reduce,                                                                 \
       (const void* in, void* out, std::size_t count, int type, int op, NcclComm comm,            \
        DeviceStream stream))                                                                     \
  call(ncclReduce, reduce,                                                                        \
       (const void* in, void* out, std::size_t count, int type, int op, int root, NcclComm comm,  \
        DeviceStream stream))                                                                     \
  call(ncclBroadcast, broadcast,                                                                  \
       (const void* in, void* out, std::size_t count, int type, int root, NcclComm comm,          \
        DeviceStream stream))                                                                     \
  call(ncclAllGather, all_gather,                                                                 \
       (const void* in, void* out, std::size_t count, int type, NcclComm comm,                    \
        DeviceStream stream))                                                                     \
  call(ncclReduceScatter, reduce_scatter,                                                         \
       (const void* in, void* out, std::size_t count, int type, int op, NcclComm comm,            \
        DeviceStream stream))                                                                     \
  call(ncclSend, send,                                                                            \
       (const void* in, std::size_t count, int type, int peer, NcclComm comm,                     \
        DeviceStream stream))                                                                     \
  call(ncclRecv, receive,                                                                         \
       (void* out, std::size_t count, int type, int peer, NcclComm comm, DeviceStream stream))
// clang-format on

struct NcclCalls {
#define PACELINE_NCCL_MEMBER(symbol, member, parameters) NcclResult(*member) parameters = nullptr;
  PACELINE_NCCL_CALLS(PACELINE_NCCL_MEMBER)
#undef PACELINE_NCCL_MEMBER
  const char* (*error_string)(NcclResult error) = nullptr;  // ncclGetErrorString
  // Null where the version does not have it.
  const char* (*last_error)(NcclComm comm) = nullptr;        // ncclGetLastError, 2.13
  NcclResult (*revoke)(NcclComm comm, int flags) = nullptr;  // ncclCommRevoke, 2.28

  /// False: `why` says what is missing.
  bool load(std::string& why);
};

}  // namespace paceline::cuda
