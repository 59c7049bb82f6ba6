// A group whose ranks share a host: how its segment is divided between the transport and the direct
// backend, and both of them made.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <paceline/group.h>
#include <paceline/status.h>

#include "collectives/backend.h"
#include "comm/arena_exchange.h"
#include "comm/host_segment.h"
#include "comm/poll_engine.h"
#include "comm/transport.h"

namespace paceline {

/// The direct backend knows every rank from every other: beyond this many, plans do better.
inline constexpr int kMostHostRanks = 64;

/// A value. Ranks find the one in use by the size of the segment.
struct HostLayout {
  std::size_t ring_bytes = 0;   ///< of the transport, for each ordered pair
  std::size_t chunk_bytes = 0;  ///< of the backend

  std::size_t bytes(int ranks) const;
};

/// The layouts of a group, the best first, each of another size: the last are for a /dev/shm that
/// is nearly full.
std::vector<HostLayout> host_layouts(int ranks);

struct HostWorld {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<CollectiveBackend> backend;  ///< borrows the transport
};

/// Collective, with what all found: a segment of one of host_layouts()'s sizes, and the arenas of
/// all ranks, or none.
Result<HostWorld> make_host_world(std::shared_ptr<PollEngine> engine, const Group& group,
                                  const HostSegment& found, HostArenas arenas);

}  // namespace paceline
