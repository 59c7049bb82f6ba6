// Memory of ranks that share a host (comm/host_map.h): one of them makes it, and all others open
// it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <paceline/group.h>
#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/cpus.h"
#include "comm/exchange.h"
#include "comm/shared_segment.h"

namespace paceline {

struct HostSegmentRequest {
  std::string folder = "/dev/shm";
  /// What the segment's name begins with: "paceline-<job id>-", by which whoever clears up after a
  /// killed job finds it in the moment in which it has a name.
  std::string prefix;
  /// What to try, the best first: only rank 0's counts. What would take more than half of the
  /// folder's room is left out where there is anything less.
  std::vector<std::size_t> bytes;
  /// What rank 0 has to say to the others about the memory; at most kMostNote bytes.
  std::string note;
  /// By rank of the group: what errors call it; empty: alike.
  std::vector<int> names{};
};

struct HostSegment {
  std::shared_ptr<SharedSegment> segment;  ///< owners: whoever keeps anything in it; may be null
  /// Where there is none: which rank could not have it and why.
  std::string why_not;
  /// Where there is one: what its ranks may use, any of them. The same on every rank.
  CpuSet cpus;
  std::string note;  ///< rank 0's
};

/// Collective: the segment is there for all ranks of the group or for none. Each rank has taken the
/// place of its number in it, and it has no name any more. Its first kHostSegmentHeader bytes are
/// in use, the rest is zero. An error is the exchange's, or that of a rank that has answered
/// nonsense.
Result<HostSegment> find_host_segment(Exchange& exchange, const Group& group,
                                      const HostSegmentRequest& request, Deadline deadline);
/// Instead, where other parts of the whole look for theirs and this one does not.
Status listen_for_segments(PartExchange& exchange, Deadline deadline);
inline constexpr std::size_t kHostSegmentHeader = 4096;
inline constexpr std::size_t kMostNote = 4096;

}  // namespace paceline
