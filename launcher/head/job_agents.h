// The agents of a job, on this host and on others, from before its start to its end.
#pragma once

#include <functional>
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

/// Belongs to the loop's thread; goes after the head that uses its channels, and before the loop.
class JobAgents {
 public:
  struct RemoteOptions {
    std::string version;  ///< build_name()
    std::string job_id;
    PortRange ports{};  ///< on which this process listens for agents
    /// What agents of other hosts, and the programs that start them, write on standard error.
    std::function<void(const std::string& host, std::string_view line)> said;
  };

  JobAgents(EventLoop& loop, Timings& timings, std::vector<HostShare> shares)
      : loop_(loop), timings_(timings), shares_(std::move(shares)) {}

  /// Forks the agent of this host, if it has ranks: see start_local_agent().
  Status start_here(FunctionRef<void(bool alone)> last);
  /// Starts those of the other hosts, and drives the loop until all have come, or it is stopped:
  /// Code::kCancelled. Another error has a line for each thing that is wrong, with its hosts. See
  /// AgentStarter::make().
  Status start_elsewhere(const JobSpec& job, const RemoteOptions& options);

  /// Each host's, in the order of the shares, with what `job` says of all ranks: give_ranks() says
  /// which are its own. What `job` has of this host alone is made good for others: a control group,
  /// and programs' folders, which are relative to `folder`. Once.
  Result<std::vector<HostAgent>> take(const messages::Start& job, const std::string& folder);
  /// Hosts that failed. Gets those whose agents do not come; its user adds others.
  HostFaults& faults() { return faults_; }
  /// Ends the agents that are not in `used`: their hosts have no ranks.
  void release_others(const std::vector<HostAgent>& used);
  /// Closes all channels and ends the programs that started agents: see AgentStarter::end().
  void end(EventLoop& waiting);

 private:
  Result<std::string> own_address() const;

  EventLoop& loop_;
  Timings& timings_;
  const std::vector<HostShare> shares_;
  HostFaults faults_;
  std::optional<StartedAgent> here_;
  std::unique_ptr<AgentStarter> starter_;
  std::vector<ConnectedAgent> elsewhere_;
  Variables for_others_;
};

}  // namespace paceline::launcher
