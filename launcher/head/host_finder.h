// Finds hosts for a start of the job: starts their agents, tests the connections between them, and
// places the ranks.
//
//   HostFinder finder(loop, agents, job, inputs, {…});
//   Result<FoundHosts> found = finder.find();
//   …                                            // some hosts are lost
//   found = finder.replace_lost(head.state());
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "launcher/head/head.h"
#include "launcher/head/job_agents.h"
#include "launcher/head/job_inputs.h"
#include "launcher/head/seating.h"
#include "launcher/head/timings.h"
#include "launcher/job/host_faults.h"
#include "launcher/job/hosts_aside.h"
#include "launcher/options/job_spec.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// The agents have their ranks, and their channels are to be opened.
struct FoundHosts {
  std::vector<HostAgent> agents;
  Seating seating;
};

/// Belongs to the loop's thread, which it drives. Everything it is given is borrowed.
class HostFinder {
 public:
  struct Options {
    messages::Start start;  ///< what the job says of all its ranks
    std::string folder;     ///< of this process: folders of programs may be relative to it
    std::function<void(const std::string& text)> say;
    /// Whether the user has asked for the end of the job before it has a head.
    std::function<bool()> is_cancelled;
    Timings& timings;
    HostFaults& faults;  ///< gets the hosts that failed
  };

  HostFinder(EventLoop& loop, JobAgents& agents, const JobSpec& job, const JobInputs& inputs,
             Options options)
      : loop_(loop), agents_(agents), job_(job), inputs_(inputs), options_(std::move(options)) {}

  /// The hosts of the first start. Shows the plan (--dry-run, --save-plan). An error names the host
  /// that is its reason. Code::kCancelled if the loop was stopped.
  Result<FoundHosts> find();
  /// The hosts of a restart, if some of the last start are lost. These hosts, and others that
  /// cannot be used, are set aside for the job's --cool-down; others of the job's hosts get the
  /// ranks. Agents that are left go on. `state` is read until all agents have come.
  Result<FoundHosts> replace_lost(const JobState& state);

 private:
  using Shares = std::vector<HostShare>;

  Status start_agents(const Shares& shares, HostFaults& faults);
  Result<FoundHosts> prepare(const Shares& shares, HostFaults& faults);
  Result<Shares> shares_left(TimePoint now) const;
  bool set_lost_aside(const JobState& state, TimePoint now);
  void set_aside(const HostFault& fault, TimePoint now);
  void settle(FoundHosts& found);

  EventLoop& loop_;
  JobAgents& agents_;
  const JobSpec& job_;
  const JobInputs& inputs_;
  const Options options_;
  HostsAside aside_;
};

}  // namespace paceline::launcher
