// The stand-in of NCCL for programs that are linked with it. See README.md.
#pragma once

#include "comm/device/cuda/nccl_calls.h"

namespace paceline::testing {

/// Its calls, as a program finds them in the library.
cuda::NcclCalls standin_nccl_calls(bool has_revoke);

/// All communicators of this process report this error from now on, once for each of them.
void standin_nccl_fail(cuda::NcclResult error);

}  // namespace paceline::testing
