// What `paceline run` exits with. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/system/exit_status.h"

namespace paceline::launcher {

/// Why the head ended the job; the first reason counts.
enum class StopCause : std::uint8_t {
  kRankFailed,
  kRefused,  ///< the program could not be executed
  kTimeout,
  kInterrupt,     ///< SIGINT
  kTerminate,     ///< SIGTERM
  kHangUp,        ///< SIGHUP
  kOutputClosed,  ///< nobody reads standard output any more
  kLauncher,      ///< the launcher itself failed
};

/// kInterrupt for SIGINT, kHangUp for SIGHUP, kTerminate for any other signal.
StopCause cause_of_signal(int signal);

struct RankEnd {
  int rank = 0;
  int wait_status = 0;  ///< as waitpid gives it
  std::int64_t time_ns = 0;
  std::optional<int> blamed;  ///< the rank that it held responsible
};

struct JobOutcome {
  int ranks = 0;
  std::optional<StopCause> cause;  ///< none: every rank ended by itself
  int refused_errno = 0;           ///< for kRefused
  std::vector<RankEnd> ends;
  std::optional<RankEnd> culprit;  ///< for kRankFailed
};

/// Which of the ends explains the others: the first that failed, or, where that one blames a rank
/// that has failed, too, the latter, and so on. A rank that is lost closes its connections a moment
/// before it has ended, so on a busy machine a survivor's failure may be seen first. Nullptr if
/// none failed.
const RankEnd* root_cause(const std::vector<RankEnd>& ends);

int exit_code(const JobOutcome& outcome);
/// How the others than the culprit ended, in words; empty where they ended well or there is none.
std::string describe_victims(const JobOutcome& outcome);

}  // namespace paceline::launcher
