#include "launcher/job/exit_code.h"

#include <algorithm>
#include <cerrno>
#include <tuple>

#include <signal.h>

namespace paceline::launcher {
namespace {

const RankEnd* failure_of(const std::vector<RankEnd>& ends, int rank) {
  const auto end = std::find_if(ends.begin(), ends.end(), [rank](const RankEnd& candidate) {
    return candidate.rank == rank && !succeeded(candidate.wait_status);
  });
  return end == ends.end() ? nullptr : &*end;
}

bool all_succeeded(const JobOutcome& outcome) {
  return outcome.ends.size() == static_cast<std::size_t>(outcome.ranks) &&
         std::all_of(outcome.ends.begin(), outcome.ends.end(),
                     [](const RankEnd& end) { return succeeded(end.wait_status); });
}

}  // namespace

StopCause cause_of_signal(int signal) {
  if (signal == SIGINT) return StopCause::kInterrupt;
  return signal == SIGHUP ? StopCause::kHangUp : StopCause::kTerminate;
}

const RankEnd* root_cause(const std::vector<RankEnd>& ends) {
  const RankEnd* first = nullptr;
  for (const RankEnd& end : ends) {
    if (succeeded(end.wait_status)) continue;
    if (!first || std::tie(end.time_ns, end.rank) < std::tie(first->time_ns, first->rank))
      first = &end;
  }
  const RankEnd* cause = first;
  for (std::size_t steps = 0; cause && cause->blamed; ++steps) {
    const RankEnd* blamed = failure_of(ends, *cause->blamed);
    if (!blamed) break;
    if (blamed == first || steps == ends.size()) return first;  // they blame each other
    cause = blamed;
  }
  return cause;
}

std::string describe_victims(const JobOutcome& outcome) {
  if (!outcome.culprit) return "";
  int obeyed = 0, killed = 0, others = 0;
  for (const RankEnd& end : outcome.ends) {
    if (end.rank == outcome.culprit->rank || succeeded(end.wait_status)) continue;
    const int code = exit_code_of(end.wait_status);
    ++(code == 128 + SIGTERM ? obeyed : code == 128 + SIGKILL ? killed : others);
  }
  std::string text;
  const auto add = [&text](int count, const std::string& how) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + how;
  };
  add(others, "with an error of their own");
  add(obeyed, "stopped by SIGTERM");
  add(killed, "killed by SIGKILL");
  return text.empty() ? "" : "other ranks ended: " + text;
}

int exit_code(const JobOutcome& outcome) {
  if (!outcome.cause) return 0;
  switch (*outcome.cause) {
    case StopCause::kRankFailed:
      return outcome.culprit ? exit_code_of(outcome.culprit->wait_status) : kExitLauncher;
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
