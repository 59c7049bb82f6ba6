// The ranks of a host give each other their arenas (comm/memory_domain.h): the descriptors pass
// through rank 0, over a Unix socket that has a name only for as long as that takes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <paceline/group.h>
#include <paceline/status.h>

#include "comm/arena_view.h"
#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"
#include "comm/exchange.h"
#include "comm/memory_domain.h"

namespace paceline {

struct HostArenas {
  /// By rank, of all ranks; empty where there are none.
  std::vector<std::shared_ptr<const ArenaView>> views;
  /// By rank, of all if they were asked for: what wakes its engine.
  std::vector<UniqueFd> kicks{};
  /// Where there are none: who could not, and why.
  std::string why_not;
};

struct ArenaExchangeRequest {
  std::string folder = "/dev/shm";  ///< one that all ranks see
  std::string prefix;               ///< of the socket's name: HostSegmentRequest::prefix
  /// From HostRoom::make_kick(), borrowed, if the ranks are to wake each other by these: all or
  /// none.
  std::optional<int> kick{};
  /// By rank of the group: what errors call it; empty: alike.
  std::vector<int> names{};
};

/// Collective, among ranks that share a host: all get all arenas, or none do. An error is the
/// exchange's.
Result<HostArenas> exchange_arenas(Exchange& exchange, const Group& group, MemoryDomain& domain,
                                   const ArenaExchangeRequest& request, const Clock& clock,
                                   Deadline deadline);

}  // namespace paceline
