// A rank between fork and exec, in the process that becomes it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/types.h>

#include "launcher/agent/spawn_helper.h"
#include "launcher/system/binding.h"

namespace paceline::launcher {

/// A program of messages::Program, with its whole environment.
struct RankImage {
  std::string path;
  std::string directory;  // empty: stay
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  bool is_shell_script = false;
};

/// Why a rank could not execute its program, on the socket that a successful exec closes.
struct ExecFailure {
  int error = 0;
  bool in_directory = false;
};

/// All that a rank needs between fork and exec, so that it allocates nothing there.
struct RankExec {
  const char* path;
  const char* directory;  // null: stay
  char* const* arguments;
  char* const* shell_arguments;  // for a script without an interpreter line, else null
  char* const* environment;
  std::array<int, kMaxRankDescriptors> descriptors;
  int descriptor_count;
  int socket;  // to the helper
  pid_t helper;
  pid_t tracer;             // may trace the rank, with its children; 0: nobody
  rlimit descriptor_limit;  // as the user has it: the helper has raised its own
  const Binding* binding;
};

/// Executes the program, or says why not. Called in the forked process.
[[noreturn]] void become_rank(RankExec exec);

}  // namespace paceline::launcher
