// Loads a module that uses gRPC: gRPC and its 50 libraries would add 11 ms to each start of
// `paceline` if they were linked (2 cores, `paceline --version`).
#pragma once

#include <paceline/status.h>

#include "launcher/system/program_module.h"

namespace paceline::launcher {

/// As load_module(). From then on the process may have threads, and has no variables of gRPC.
Result<const void*> load_grpc_module(const ProgramModule& module);

}  // namespace paceline::launcher
