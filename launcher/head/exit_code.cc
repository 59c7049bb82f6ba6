#include "launcher/head/exit_code.h"

#include <algorithm>
#include <cerrno>
#include <tuple>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

namespace paceline::launcher {
namespace {

int first_failure(const std::vector<RankEnd>& ends) {
  const RankEnd* first = nullptr;
  for (const RankEnd& end : ends) {
    if (succeeded(end.wait_status)) continue;
    if (!first || std::tie(end.time_ns, end.rank) < std::tie(first->time_ns, first->rank))
      first = &end;
  }
  return first ? exit_code_of(first->wait_status) : 0;
}

bool all_succeeded(const JobOutcome& outcome) {
  return outcome.ends.size() == static_cast<std::size_t>(outcome.ranks) &&
         std::all_of(outcome.ends.begin(), outcome.ends.end(),
                     [](const RankEnd& end) { return succeeded(end.wait_status); });
}

}  // namespace

bool succeeded(int wait_status) { return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0; }

int exit_code_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

std::string describe(int wait_status) {
  if (WIFEXITED(wait_status)) return "exited with code " + std::to_string(WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  const char* meaning = ::sigdescr_np(signal);
  return "was killed by signal " + std::to_string(signal) + " (" + (meaning ? meaning : "unknown") +
         (WCOREDUMP(wait_status) ? ", core dumped)" : ")");
}

int exit_code(const JobOutcome& outcome) {
  if (!outcome.cause) return first_failure(outcome.ends);
  switch (*outcome.cause) {
    case StopCause::kRankFailed:
      return first_failure(outcome.ends);
    case StopCause::kRefused:
      return outcome.refused_errno == ENOENT ? kExitNotFound : kExitCannotExecute;
    case StopCause::kTimeout:
      return kExitTimeout;
    case StopCause::kInterrupt:
      return 128 + SIGINT;
    case StopCause::kTerminate:
      return all_succeeded(outcome) ? 0 : 128 + SIGTERM;
    case StopCause::kHangUp:
      return 128 + SIGHUP;
    case StopCause::kOutputClosed:
      return 128 + SIGPIPE;
    case StopCause::kLauncher:
      return kExitLauncher;
  }
  return kExitLauncher;
}

}  // namespace paceline::launcher
