// Before a rank of a job on several hosts starts, tests every pair of addresses that may carry
// data, in both directions. Each host gets the address that its ranks use.
//
//   head                      agents
//     Survey              →
//                         ←     Surveyed: addresses, clock, name; a port to be tried at
//     Try                 →
//                               all try each other at once (launcher/connectivity/trial_server.h)
//                         ←     Tried, for each rail that is done
//
// If all connections work, this takes two round trips to the agents and three or four between them.
// Other rails, such as a network without a route, are not waited for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/net_choice.h"
#include "comm/base/port_range.h"
#include "launcher/head/head.h"
#include "launcher/job/host_faults.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// PACELINE_NET and what stands in for it, as this process has them.
Result<NetChoice> net_choice_of_environment();

/// PACELINE_PORT_RANGE, as this process has it.
Result<PortRange> port_range_of_environment();

struct PairCheckOptions {
  NetChoice choice;
  PortRange ports{};  ///< on which agents listen for the trials
  /// Hears what is odd without keeping the job from running.
  std::function<void(const std::string& warning)> warn;
  HostFaults& faults;  ///< gets the hosts that an error is about
};

/// Listens to the channels of `agents` until somebody else does, drives the loop, and sets the
/// address of each start. A job of one host is left as it is. An error has a line for each thing
/// that is wrong, or a matrix of the pairs, within 5 s unless the hosts are so busy that their
/// trials take longer; Code::kCancelled where the loop was stopped.
Status check_pairs(EventLoop& loop, std::vector<HostAgent>& agents,
                   const PairCheckOptions& options);

}  // namespace paceline::launcher
