#include "launcher/agent/rank_process.h"

#include <cerrno>
#include <cstddef>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "launcher/system/descriptors.h"
#include "launcher/system/process.h"

namespace paceline::launcher {
namespace {

[[noreturn]] void give_up(const RankExec& exec, bool in_directory) {
  const ExecFailure failure{.error = errno, .in_directory = in_directory};
  // The socket is empty and the helper holds the other end: this neither blocks nor fails.
  [[maybe_unused]] const ssize_t written = ::write(exec.socket, &failure, sizeof failure);
  ::_exit(1);
}

// A rank that ended before it is watched would seem to have ended after all that are.
void await_watch(const RankExec& exec) {
  char watched = 0;
  if (::read(exec.socket, &watched, 1) != 1) ::_exit(1);
}

// The descriptors move out of the way first: one may lie where another has to go.
void place_descriptors(const RankExec& exec) {
  std::array<int, kMaxRankDescriptors> away{};
  const auto count = static_cast<std::size_t>(exec.descriptor_count);
  for (std::size_t i = 0; i < count; ++i)
    away[i] = ::fcntl(exec.descriptors[i], F_DUPFD_CLOEXEC, kMaxRankDescriptors);
  for (std::size_t i = 0; i < count; ++i) {
    if (away[i] < 0 || ::dup2(away[i], static_cast<int>(i)) < 0) give_up(exec, false);
  }
  close_on_exec_from(exec.descriptor_count);  // what the launcher inherited stays in the launcher
}

}  // namespace

// A process group of its own can be killed whole. The session stays the agent's, which makes all
// ranks one to the scheduler: between sessions (sched(7), autogroup) a yield hands over little, and
// operations of 32 ranks on 2 CPUs took three times as long.
void become_rank(RankExec exec) {
  die_with(exec.helper);
  ::setpgid(0, 0);
  // Without Yama this fails, and is not needed. Yama keeps it over exec: security/yama/yama_lsm.c.
  if (exec.tracer != 0) ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(exec.tracer), 0, 0, 0);
  exec.socket = ::fcntl(exec.socket, F_DUPFD_CLOEXEC, kMaxRankDescriptors);
  place_descriptors(exec);
  await_watch(exec);
  if (exec.directory != nullptr && ::chdir(exec.directory) != 0) give_up(exec, true);
  reset_signals();
  ::setrlimit(RLIMIT_NOFILE, &exec.descriptor_limit);
  exec.binding->apply();
  ::execve(exec.path, exec.arguments, exec.environment);
  if (errno == ENOEXEC && exec.shell_arguments != nullptr)
    ::execve(exec.shell_arguments[0], exec.shell_arguments, exec.environment);
  give_up(exec, false);
}

}  // namespace paceline::launcher
