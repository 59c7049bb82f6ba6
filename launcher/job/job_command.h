// Orders to the head: the output of JobMachine. Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "comm/base/clock.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/job/membership.h"

namespace paceline::launcher {

/// Send the host its order to start. The first host gets no meeting, because it opens it.
struct StartHost {
  std::size_t host = 0;
  messages::Meeting meeting;
  std::uint32_t epoch = 0;  ///< the number of the start
};

/// Write it to the membership log, if there is one. The begin of an epoch is answered by
/// EpochRecorded.
struct Record {
  MembershipEntry entry;
};

/// Some hosts are lost: find hosts for all ranks, and answer with HostsFound. The agents that are
/// left have ended their ranks and wait for a start.
struct FindHosts {};

struct TellHost {
  std::size_t host = 0;
  messages::ToAgent message;
};

struct TellAllHosts {
  messages::ToAgent message;
};

/// A line on standard error.
struct Say {
  std::string text;
};

/// From now on, output that nobody reads holds the job up only for `grace` and some seconds.
struct LimitOutput {
  Duration grace{};
};

/// The ranks need no grace any more.
struct EndGrace {};

/// Leave without the rest of the output.
struct DropOutput {};

/// No agent will send another message. The job ends once its output is written.
struct EndJob {};

using JobCommand = std::variant<StartHost, Record, FindHosts, TellHost, TellAllHosts, Say,
                                LimitOutput, EndGrace, DropOutput, EndJob>;

}  // namespace paceline::launcher
