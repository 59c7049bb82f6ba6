// Parts of `paceline` that few jobs need, and that use large libraries: each is a module, a shared
// library beside libpaceline that is loaded at the first use.
#pragma once

#include <string>

#include <paceline/status.h>

namespace paceline::launcher {

struct ProgramModule {
  const char* file;    ///< its name
  const char* symbol;  ///< the one that it exports
  const char* user;    ///< for the error: "remote agents"
};

/// The symbol's address. Loads the module once, and it stays. An error says where it should be.
Result<const void*> load_module(const ProgramModule& module);

}  // namespace paceline::launcher
