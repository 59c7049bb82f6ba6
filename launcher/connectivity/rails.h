// Over which addresses the hosts of a job may talk. Pure.
//
//            h1          h2          h3
//   rail 0   10.0.0.1    10.0.0.2    10.0.0.3       the best first
//   rail 1   10.1.0.1    10.1.0.2    10.1.0.3
//
// A rail has one address of each host. Those of one network come first, as NCCL sorts its
// interfaces: cards before tunnels before bridges, then the faster ones, then the one by which the
// agents have reached the head. An address that several machines have (docker0's 172.17.0.1) leads
// nowhere and is left out, as are those that are down, and loopback where there is anything else.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/net_choice.h"
#include "launcher/connectivity/survey.h"

namespace paceline::launcher {

/// What one host may be reached by, at most.
inline constexpr std::size_t kMaxCandidates = 16;
inline constexpr std::size_t kMaxRails = 32;

struct Rail {
  std::vector<HostInterface> ends;  ///< by host

  bool operator==(const Rail&) const = default;
};

/// "eth0 10.0.0.0/24"; "different networks" if the hosts have neither a name nor a network in
/// common.
std::string describe(const Rail& rail);

/// At least one, the best first. An error names each host that has no address which `choice` takes,
/// and what it has.
Result<std::vector<Rail>> rails_of(std::span<const HostSurvey> hosts, const NetChoice& choice);

}  // namespace paceline::launcher
