// What machines the hosts of a job are, by their agents.
//
//   head                      agents
//     Describe            →
//                         ←     Described: a digest of the machine, the CPUs that ranks may use
//     Describe, whole     →     one of those with the same digest
//                         ←     Described: the machine
//
// Two round trips, or one for a single host; each distinct machine comes once.
#pragma once

#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/head/head.h"
#include "launcher/job/host_faults.h"
#include "launcher/system/event_loop.h"
#include "topology/cluster/cluster.h"

namespace paceline::launcher {

struct SurveyedCluster {
  topology::Cluster cluster;  ///< its hosts as the agents
  /// By host: what each other job of this user there is bound to.
  std::vector<std::vector<CpuSet>> taken;
};

/// `reserves`: the job will be bound to a part of the CPUs, and no other such job of this user may
/// plan until it has started. Listens to the channels of `agents` until somebody else does,
/// and drives the loop. An error names hosts that did not answer, or cannot say what they are, and
/// `faults` gets those; Code::kCancelled where the loop was stopped.
Result<SurveyedCluster> survey_machines(EventLoop& loop, std::vector<HostAgent>& agents,
                                        bool reserves, HostFaults& faults);

}  // namespace paceline::launcher
