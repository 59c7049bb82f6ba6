// Transport through memory that the ranks of one host share: a ring for each ordered pair of ranks
// (comm/transport/byte_ring.h), between members of a room (comm/host_room.h).
//
// A message is copied into the ring and out of it; a short one costs each side about one exchange
// of a cache line and its framing. When nothing comes, drive() loads a line for each peer and makes
// no system call. A long one whose payload lies in a buffer (comm/memory_domain.h) stays there: its
// receiver copies it, once, its sender helps where that is into a buffer and it waits, and then its
// send ends (comm/transport/shm_loans.h). Behind abort() it does not arrive any more.
//
// LIFE: while something is awaited from a peer it is asked every kLookEvery whether its process has
// left the room. What a peer sent before it left or ended is received, since the memory outlives it
// here.
//
// BACKLOG: StreamInbox::kBacklogBytes of payload per peer, and a ring full behind it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/host_room.h"
#include "comm/transport.h"

namespace paceline {

/// What the transport of a group has of the room.
struct ShmPlace {
  /// By rank: the place of its process in the room; kElsewhere: it is not in the room, and not to
  /// be reached; empty: that of its rank.
  std::vector<int> members{};
  static constexpr int kElsewhere = -1;
  SegmentPart part;
  /// Of each ring: a power of two, the same on every rank.
  std::size_t ring_bytes = std::size_t{64} << 10;

  int of(int rank) const {
    return members.empty() ? rank : members[static_cast<std::size_t>(rank)];
  }
  /// Those in the room, ascending.
  std::vector<int> ranks(int of_group) const {
    std::vector<int> here;
    for (int rank = 0; rank < of_group; ++rank)
      if (of(rank) != kElsewhere) here.push_back(rank);
    return here;
  }
};

class ShmTransport : public Transport {
 public:
  static constexpr Duration kLookEvery = std::chrono::milliseconds(20);

  /// How much memory the transports of a group take, of so many ranks in the room.
  static std::size_t bytes_for(int ranks, std::size_t ring_bytes);

  virtual Ringer ringer(int rank) const = 0;
  /// What it reaches of the buffers of all ranks in the room, in their order.
  virtual const Arenas& arenas() const = 0;
};

/// Code::kInvalidArgument where the part is too small for it.
Result<std::unique_ptr<ShmTransport>> make_shm_transport(std::shared_ptr<HostRoom> room,
                                                         const Group& group, ShmPlace place);

}  // namespace paceline
