// The agent: the process that stands for one host. It serves the rendezvous store, has the ranks
// spawned, passes on what they write, keeps their flight rings, and obeys the head. When the head
// goes, so does everything here.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <paceline/status.h>

#include "comm/base/function_ref.h"
#include "comm/base/unique_fd.h"
#include "launcher/channel/channel.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// What connects an agent with its head.
struct HeadConnection {
  std::unique_ptr<HeadChannel> channel;
  UniqueFd standard_input;  ///< of the rank that is to have one; else it comes by the channel
  UniqueFd lifeline;        ///< ends when the agent is to end; closed: the channel says it alone
  std::optional<std::string> cgroup;  ///< for the ranks; none: the head says which
};

/// How an agent, once its helper is forked, comes to its head.
class HeadRoad {
 public:
  virtual ~HeadRoad() = default;
  /// In the helper: gives up what it has inherited of the road.
  virtual void leave() = 0;
  /// In the agent, once. The process may have threads from then on.
  virtual Result<HeadConnection> take(EventLoop& loop) = 0;
};

/// Body of the process. Must be called before it has a thread. Returns when the job has left the
/// host; an error is why it never came. The spawn helper, which may outlive the agent, calls `last`
/// before it ends, and says whether it has.
Status run_agent(HeadRoad& road, FunctionRef<void(bool alone)> last);

/// The same for an agent that was forked by its head: `head` is its end of a socket pair, standard
/// input the ranks'. Reports its own errors.
void run_agent(UniqueFd head, FunctionRef<void(bool alone)> last);

}  // namespace paceline::launcher
