// Events of a job: the input of JobMachine. Values.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include <paceline/status.h>

#include "launcher/channel/messages.pb.h"
#include "launcher/job/job_state.h"

namespace paceline::launcher {

/// The agents are connected, and the job begins.
struct JobBegins {};

/// The begin of an epoch is in the membership log, or cannot be written there. Answers each Record
/// of a begin.
struct EpochRecorded {
  Status why;
};

/// Answers FindHosts. The ranks of the job are shared out to `hosts` anew. If there are not enough,
/// `why` says so.
struct HostsFound {
  Status why;
  std::vector<JobHost> hosts;
};

/// An agent sent a message. Hosts are numbered in the order of their ranks.
struct AgentSaid {
  std::size_t host = 0;
  messages::FromAgent message;
};

/// The channel to an agent ended. `why` is ok if the agent closed it.
struct AgentLost {
  std::size_t host = 0;
  Status why;
};

/// The order to start cannot be sent: it is too long.
struct StartRefused {
  std::size_t host = 0;
  Status why;
};

/// A signal for the job came to this process, or a client of the control service asked for it.
struct SignalCame {
  int signal = 0;
  std::string why{};   ///< for the message; empty: "SIGTERM came"
  bool kills = false;  ///< a signal that ends the job: without the grace period
};

/// Standard output cannot be written any more.
struct OutputBroke {
  int error = 0;  ///< errno
};

/// The messages of agents wait while the console is behind.
struct ReadingPaused {};
struct ReadingResumed {};

/// JobMachine::next_timer() has come.
struct TimePassed {};

using JobEvent =
    std::variant<JobBegins, EpochRecorded, HostsFound, AgentSaid, AgentLost, StartRefused,
                 SignalCame, OutputBroke, ReadingPaused, ReadingResumed, TimePassed>;

}  // namespace paceline::launcher
