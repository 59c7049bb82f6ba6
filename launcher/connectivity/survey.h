// What a host says about itself before a job of several hosts starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/host_interfaces.h"
#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// A host, as the head sees it.
struct HostSurvey {
  std::string host;        ///< as the job calls it
  std::string own_name;    ///< as its kernel does; printable
  std::string machine;     ///< the same of two hosts: one machine with one network
  std::string reached_by;  ///< the address by which its agent has reached the head; numeric
  Duration clock_ahead{};  ///< of the head's time of day
  int door = 0;            ///< port where it is tried
  std::vector<HostInterface> interfaces;

  /// Tells its machine from others. A host whose machine is not known counts as one of its own.
  const std::string& machine_or_host() const { return machine.empty() ? host : machine; }
};

/// More addresses are not told.
inline constexpr std::size_t kMaxSurveyedAddresses = 64;

/// In the agent; `door` is where it is tried.
messages::Surveyed survey_this_host(const WallClock& clock, int door);

/// In the head, which believes nothing: an error says what cannot be. What the agent does not know
/// (host, reached_by, clock_ahead) is left empty. Pure.
Result<HostSurvey> read_survey(const messages::Surveyed& message);

}  // namespace paceline::launcher
