// The agents of a job, on this host and on others, from before its start to its end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <paceline/status.h>

#include "comm/base/function_ref.h"
#include "comm/base/port_range.h"
#include "launcher/engines/agent_starter.h"
#include "launcher/engines/local.h"
#include "launcher/head/head.h"
#include "launcher/head/job_hosts.h"
#include "launcher/head/sent_variables.h"
#include "launcher/head/timings.h"
#include "launcher/job/host_faults.h"
#include "launcher/options/host_plan.h"
#include "launcher/options/job_spec.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Whether the engine that was asked for is one, and its options are right; also where no host
/// needs it. Without --engine local, this process must not be one of several tasks of srun.
Status check_engine(const JobSpec& job);

/// Owns the channels of the agents (agent_link.h); others listen in turn. Belongs to the loop's
/// thread; goes after the head that uses its channels, and before the loop.
class JobAgents {
 public:
  struct RemoteOptions {
    std::string version;  ///< build_name()
    std::string job_id;
    PortRange ports{};  ///< on which this process listens for agents
    /// What agents of other hosts, and the programs that start them, write on standard error.
    std::function<void(const std::string& host, std::string_view line)> said;
  };
  using Shares = std::vector<HostShare>;

  JobAgents(EventLoop& loop, Timings& timings) : loop_(loop), timings_(timings) {}

  /// Forks the agent of this host, if it has ranks, or may get some when ranks start again: see
  /// start_local_agent(). Once.
  Status start_here(const JobSpec& job, const SharedHosts& hosts,
                    FunctionRef<void(bool alone)> last);
  /// Starts those of other hosts that have none yet, and drives the loop until all have come, or it
  /// is stopped: Code::kCancelled. Another error has a line for each thing that is wrong, with its
  /// hosts, which `faults` gets; then none of these agents is left. See AgentStarter::make().
  Status start_elsewhere(const Shares& shares, const JobSpec& job, const RemoteOptions& options,
                         HostFaults& faults);
  /// Whether ranks can run there. This host's agent cannot be started again.
  bool is_possible(const std::string& host) const;

  /// Each host's, in the order of the shares, with what `job` says of all ranks: give_ranks() says
  /// which are its own. What `job` has of this host alone is made good for others: a control group,
  /// and programs' folders, which are relative to `folder`. All have come.
  Result<std::vector<HostAgent>> take(const Shares& shares, const messages::Start& job,
                                      const std::string& folder);
  /// Ends the agent of this host, if it has one.
  void release(const std::string& host);
  /// Ends the agents that are not in `used`: their hosts have no ranks.
  void release_others(const std::vector<HostAgent>& used);
  /// Closes all channels and ends the programs that started agents: see AgentStarter::end().
  void end(EventLoop& waiting);

 private:
  Result<std::string> own_address() const;

  EventLoop& loop_;
  Timings& timings_;
  std::optional<StartedAgent> here_;                     // its channel may have gone
  bool stays_here_ = false;                              // without ranks, too
  std::vector<std::unique_ptr<AgentStarter>> starters_;  // they serve their agents to the end
  std::map<std::string, ConnectedAgent> elsewhere_;      // by host
  Variables for_others_;
};

}  // namespace paceline::launcher
