// The communicator of a group whose ranks have met: what carries its messages, and what it does
// with them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <paceline/communicator.h>
#include <paceline/group.h>

#include "collectives/failure/whereabouts.h"
#include "collectives/host_world.h"
#include "collectives/membership.h"
#include "comm/base/clock.h"
#include "comm/exchange.h"
#include "comm/host_map.h"
#include "comm/host_segment.h"

namespace paceline {

/// What a caller may choose.
struct CommunicatorTerms {
  Duration timeout{};
  Determinism determinism{};
  std::string name{};
};

/// Those of `options`; what they leave open is as in `otherwise`. An error says what is not
/// allowed, with this environment.
Result<CommunicatorTerms> terms_of(const InitOptions& options, const CommunicatorTerms& otherwise,
                                   const Environment& environment);

/// What is made of them.
struct CommunicatorRequest {
  Group group;
  Membership membership;
  HostMap hosts;  ///< by rank of the group
  CommunicatorTerms terms;
  HostWorld world{};                           ///< empty in a group of one
  std::unique_ptr<Whereabouts> whereabouts{};  ///< may be null
  TimePoint began{};                           ///< when the call began
};
Communicator make_communicator(CommunicatorRequest request);

/// Some ranks of a group, in that order, this one among them. The name is that of the whole.
Group subgroup(const Group& whole, const std::vector<int>& ranks);

/// Collective, between the ranks of a host: memory for them, and for the runtime's room if there is
/// none yet; or the reason why there is no memory. `exchange` is theirs.
Result<HostSegment> find_group_segment(const CommunicatorRequest& request, Exchange& exchange,
                                       Deadline deadline);
/// Collective: sets the world of the request. Ranks of a host reach each other as members of the
/// runtime's room in the memory that was found, if any; all others through its port. When all ranks
/// have it, each may be connected to.
Status make_world(CommunicatorRequest& request, const HostSegment& found);

/// Logs that `ranks` ("the ranks of h1") use TCP.
void say_over_tcp(const Runtime& runtime, const std::string& ranks, const std::string& why);

}  // namespace paceline
