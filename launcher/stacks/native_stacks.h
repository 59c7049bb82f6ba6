// The seam to libdw, which unwinds the stacks of other processes. The module behind it
// (libdw_stacks.cc) is the only user of libdw and of ptrace(2). It is loaded when stacks are asked
// for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/function_ref.h"

namespace paceline::launcher {

struct NativeThread {
  pid_t id = 0;
  std::vector<std::string> frames;  ///< the innermost first; empty: `failure` says why
  std::string failure;
};

struct NativeRequest {
  pid_t process = 0;
  std::span<const pid_t> threads;
  Duration patience{};  ///< for a thread to stop
};

/// The functions of the module.
struct StacksModule {
  /// Stops one thread after the other, for as long as it takes to unwind it, and tells `got` its
  /// stack. A stopped process stays stopped, a running one runs on, also if the caller is killed
  /// meanwhile. SIGCHLD must be blocked. May hang where the kernel or a file of the process does,
  /// so call it in a BoundedChild. An error is about the whole process.
  Status (*take)(const NativeRequest& request, FunctionRef<void(const NativeThread&)> got);
};

/// The module's one symbol: a StacksModule.
inline constexpr const char* kStacksSymbol = "paceline_stacks_module";

/// Loads the module once. An error says in words why there are no native stacks.
Result<const StacksModule*> load_stacks_module();

}  // namespace paceline::launcher
