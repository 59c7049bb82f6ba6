// The agent: the process that stands for one host. It serves the rendezvous store, has the ranks
// spawned, passes on what they write, keeps their flight rings, and obeys the head. When the head
// goes, so does everything here.
#pragma once

#include "comm/base/function_ref.h"
#include "comm/base/unique_fd.h"

namespace paceline::launcher {

/// Body of the process; `head` is its end of the channel to the head. Must be called before the
/// process has a thread. Returns when the job has left the host. The spawn helper, which may
/// outlive the agent, calls `last` before it ends, and says whether it has.
void run_agent(UniqueFd head, FunctionRef<void(bool alone)> last);

}  // namespace paceline::launcher
