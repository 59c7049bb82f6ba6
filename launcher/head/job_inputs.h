// All that a job needs beside its options before it starts: read from files and the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/net_choice.h"
#include "comm/base/port_range.h"
#include "launcher/head/job_hosts.h"
#include "launcher/head/membership_file.h"
#include "launcher/head/seating.h"
#include "launcher/options/fault_script.h"
#include "launcher/options/job_spec.h"

namespace paceline::launcher {

struct JobInputs {
  SharedHosts hosts;  ///< of a plan without candidates: it says which host has which rank
  NetChoice net;
  PortRange ports;
  PlacementFiles files;
  std::vector<FaultSpec> faults;
  /// Open before other processes of the job are forked, so that nobody else has the file until the
  /// last of them on this host has ended. Null: nobody wants it.
  std::unique_ptr<MembershipFile> membership;

  std::uint32_t first_epoch() const { return first_epoch_after(membership.get()); }
};

/// The programs and their arguments, as a line of a shell.
std::string command_of(const JobSpec& job);

/// Completes the numbers of ranks in `job`, which may depend on the hosts. `warn` gets warnings of
/// this host's limits.
Result<JobInputs> inputs_of(JobSpec& job, const std::function<void(const std::string&)>& warn);

}  // namespace paceline::launcher
