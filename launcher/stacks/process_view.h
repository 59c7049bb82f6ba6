// A process as the kernel shows it in /proc, without stopping it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sys/types.h>

#include "launcher/proto/job_v1.pb.h"
#include "launcher/stacks/process_texts.h"
#include "launcher/system/process_identity.h"

namespace paceline::launcher {

inline constexpr std::size_t kMaxStackProcesses = 4;
inline constexpr std::size_t kMaxStackThreads = 32;
inline constexpr std::size_t kMaxStackFrames = 64;
inline constexpr std::size_t kMaxFrameText = 256;

struct SeenProcess {
  pid_t pid = 0;
  ProcessStat stat;

  ProcessIdentity identity() const { return {.pid = pid, .start_time = stat.start_time}; }
};

/// All processes of the host, except zombies. Reads nothing that a hanging process can block.
std::vector<SeenProcess> all_seen_processes();

/// Those of a rank that are to be looked at, at most kMaxStackProcesses. `main` is the process that
/// the launcher started, and comes first. The others are in its process group or descend from it;
/// those that are `preferred` come before those with more CPU time. Pure.
std::vector<SeenProcess> choose_processes(const std::vector<SeenProcess>& all, pid_t main,
                                          const std::vector<pid_t>& preferred);

/// Name, threads with state and kernel function, and what the main thread waits for. The calls can
/// block where the process hangs in the kernel.
job::v1::Process view_process(const SeenProcess& process);

/// Its threads, the main thread first, at most kMaxStackThreads.
std::vector<pid_t> threads_of(pid_t process);

}  // namespace paceline::launcher
