// The communicator of a group whose ranks have met: what carries its messages, and what it does
// with them.
#pragma once

#include <memory>
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
};

/// Those of `options`; what they leave open is as in `otherwise`. An error says what is not
/// allowed, with this environment.
Result<CommunicatorTerms> terms_of(const InitOptions& options, const CommunicatorTerms& otherwise,
                                   const Environment& environment);

/// What is made of them.
struct CommunicatorRequest {
  Group group;
  Membership membership;
  CommunicatorTerms terms;
  HostWorld world{};                           ///< empty in a group of one
  std::unique_ptr<Whereabouts> whereabouts{};  ///< may be null
  TimePoint began{};                           ///< when the call began
};
Communicator make_communicator(CommunicatorRequest request);

/// Where the ranks of a group are, as one of them sees it.
struct GroupHosts {
  HostMap map;              ///< by rank of the group
  std::vector<int> beside;  ///< ranks on this one's host, ascending, itself among them

  GroupHosts(const HostMap& of_processes, const Membership& membership, int rank, int size);
  bool is_one() const { return map.hosts() == 1; }
  bool shares_memory() const { return beside.size() > 1; }
};

/// Collective, between the ranks of a host: memory for them, and for a room of so many `places`
/// (HostLayout), or why there is none. `exchange` is theirs.
Result<HostSegment> find_group_segment(Runtime& runtime, const Group& group,
                                       const GroupHosts& hosts, int places, Exchange& exchange,
                                       Deadline deadline);
/// Collective: what the ranks reach each other by: those of a host as members of the runtime's room
/// in the memory that was found, if any, those of several through its port. When all ranks have it,
/// each may be connected to.
Result<HostWorld> make_world(const Membership& membership, const Group& group,
                             const GroupHosts& hosts, const HostSegment& found, int places);

}  // namespace paceline
