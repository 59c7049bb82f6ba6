// The state of a job, for those who show it or record it. Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/base/clock.h"
#include "launcher/job/exit_code.h"
#include "launcher/job/host_faults.h"

namespace paceline::launcher {

/// A host as the job is begun with it.
struct JobHost {
  std::string name;
  std::vector<std::uint32_t> ranks;  ///< by local rank, ascending
  bool writes_files = false;         ///< its agent writes output files
};

enum class HostPhase : std::uint8_t {
  kWaiting,   ///< for the order to start
  kStarting,  ///< it has the order
  kReady,     ///< its agent is ready to start ranks, or has started them
  kFinished,  ///< its agent has nothing more to tell
};

struct HostState : JobHost {
  HostPhase phase = HostPhase::kWaiting;
  bool was_started = false;  ///< it had an order to start, and says each second that it runs
  Duration clock_ahead{};    ///< of the head's clock
  bool is_lost = false;      ///< its channel has ended, it does not answer, or it cannot go on
  std::string why_lost{};    ///< in words; empty if its channel ended when nobody needed it
  TimePoint heard{};         ///< when its agent last sent something
};

struct RankState {
  std::size_t host = 0;
  std::int64_t pid = 0;
  bool ended = false;
  std::string end{};  ///< in words
};

struct JobState {
  std::vector<HostState> hosts;
  std::vector<RankState> ranks;
  JobOutcome outcome;
  HostFaults faults;           ///< hosts whose agents were lost
  std::uint32_t epoch = 0;     ///< of the ranks: their starts have numbers
  bool is_restarting = false;  ///< the ranks end, or have ended, to be started again
  bool seeks_hosts = false;    ///< other hosts are sought for those that are lost
  bool finished = false;       ///< no agent will send another message
};

}  // namespace paceline::launcher
