// The ranks of a host give each other their arenas (comm/memory_domain.h): the descriptors pass
// through rank 0, over a Unix socket that has a name only for as long as that takes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <paceline/group.h>
#include <paceline/status.h>

#include "comm/arena_view.h"
#include "comm/base/clock.h"
#include "comm/memory_domain.h"
#include "comm/store_client.h"

namespace paceline {

struct HostArenas {
  /// By rank, of all ranks; empty where there are none.
  std::vector<std::shared_ptr<const ArenaView>> views;
  /// Where there are none: who could not, and why.
  std::string why_not;
};

struct ArenaExchangeRequest {
  std::string folder = "/dev/shm";  ///< one that all ranks see
  std::string prefix;               ///< of the socket's name: HostSegmentRequest::prefix
};

/// Collective, among ranks that share a host: all get all arenas, or none do. An error is the
/// store's.
Result<HostArenas> exchange_arenas(StoreClient& store, const Group& group, MemoryDomain& domain,
                                   const ArenaExchangeRequest& request, const Clock& clock,
                                   Deadline deadline);

}  // namespace paceline
