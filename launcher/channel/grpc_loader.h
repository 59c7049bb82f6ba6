// Loads a module that uses gRPC: gRPC and its 50 libraries would add 11 ms to each start of
// `paceline` if they were linked (2 cores, `paceline --version`).
#pragma once

#include <string>

#include <paceline/status.h>

namespace paceline::launcher {

struct GrpcModule {
  const char* file;    ///< its name; it is installed beside libpaceline
  const char* symbol;  ///< the one that it exports
  const char* user;    ///< for the error: "remote agents"
};

/// The symbol's address. Loads the module once, and gRPC with it. An error says where it should be.
/// From then on the process may have threads, and has no variables of gRPC.
Result<const void*> load_grpc_module(const GrpcModule& module);

}  // namespace paceline::launcher
