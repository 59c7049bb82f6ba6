// Transport through memory that the ranks of one host share: a ring for each ordered pair of ranks
// (comm/transport/byte_ring.h) and a doorbell for each rank (comm/doorbell.h), in one area.
//
// A message is copied into the ring and out of it; a short one costs each side about one exchange
// of a cache line and its framing. When nothing comes, drive() loads a line for each peer and makes
// no system call. A long one whose payload lies in a buffer (comm/memory_domain.h) stays there: its
// receiver copies it, once, its sender helps where that is into a buffer and it waits, and then its
// send ends (comm/transport/shm_loans.h). Behind abort() it does not arrive any more.
//
// LIFE: each rank has taken the place of its number in the segment before any makes its transport.
// While something is awaited from a peer it is asked every kLookEvery whether its process lives
// (SharedSegment::is_taken_by_another), which cannot be asked about the own process: a peer that is
// another thread of it counts as alive. What a peer sent before it left or ended is received,
// since the memory outlives it here.
//
// BACKLOG: StreamInbox::kBacklogBytes of payload per peer, and a ring full behind it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "comm/arena_view.h"
#include "comm/doorbell.h"
#include "comm/poll_engine.h"
#include "comm/shared_segment.h"
#include "comm/transport.h"

namespace paceline {

struct ShmOptions {
  /// Of each ring: a power of two, the same on every rank.
  std::size_t ring_bytes = std::size_t{64} << 10;
  /// Of all ranks, or of none.
  Arenas arenas{};
  /// There are more ranks than CPUs: one that waits for its message to be copied leaves that to its
  /// receiver.
  bool shares_cpus = false;
};

/// Part of a segment, zero before the first rank uses it.
struct ShmPlace {
  std::shared_ptr<SharedSegment> segment;  // owners: whoever keeps anything in it
  std::size_t offset = 0;                  // a multiple of 64
};

class ShmTransport : public Transport {
 public:
  static constexpr Duration kLookEvery = std::chrono::milliseconds(20);

  /// How much memory the transports of a group take.
  static std::size_t bytes_for(int ranks, std::size_t ring_bytes);

  /// Where `rank` sleeps: whoever has written something for it rings. The engine of this rank
  /// sleeps at this rank's while the transport lives.
  virtual Doorbell& doorbell(int rank) const = 0;
};

/// Code::kInvalidArgument where the segment has no room for it at that offset.
Result<std::unique_ptr<ShmTransport>> make_shm_transport(std::shared_ptr<PollEngine> engine,
                                                         const Group& group, ShmPlace place,
                                                         const ShmOptions& options = {});

}  // namespace paceline
