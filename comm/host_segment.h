// Which ranks share a host is found out by trying: one of them makes memory, and all others open
// it. Neither the environment nor the hosts' names are believed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <paceline/group.h>
#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/cpus.h"
#include "comm/shared_segment.h"
#include "comm/store_client.h"

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
};

struct HostSegment {
  std::shared_ptr<SharedSegment> segment;  ///< owners: whoever keeps anything in it; may be null
  /// Where there is none: which rank could not have it and why.
  std::string why_not;
  /// Where there is none: that rank runs on another boot of a kernel, so nobody would expect it.
  bool other_host = false;
  /// Where there is one: what its ranks may use, any of them. The same on every rank.
  CpuSet cpus;
  std::string note;  ///< rank 0's
};

/// Collective: the segment is there for all ranks of the group or for none. Each rank has taken the
/// place of its number in it, and it has no name any more. Its first kHostSegmentHeader bytes are
/// in use, the rest is zero.
Result<HostSegment> find_host_segment(StoreClient& store, const Group& group,
                                      const HostSegmentRequest& request, Deadline deadline);
inline constexpr std::size_t kHostSegmentHeader = 4096;
inline constexpr std::size_t kMostNote = 4096;

}  // namespace paceline
