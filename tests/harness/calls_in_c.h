// The calls of calls.h through the C interface.
#pragma once

#include <paceline/paceline.h>

#include "tests/harness/calls.h"

namespace paceline::testing {

plDataType_t c_type(DataType type);
plRedOp_t c_op(ReduceOp op);

/// Returns when it has ended. close() is plCommFinalize.
plResult_t call_in_c(plComm_t comm, const Call& call, MadeCall& made);

}  // namespace paceline::testing
