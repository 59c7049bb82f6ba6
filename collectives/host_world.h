// A group whose ranks share a host: how its segment is divided between the transport and the direct
// backend, and both of them made.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <paceline/group.h>
#include <paceline/status.h>

#include "collectives/backend/backend.h"
#include "collectives/backend/shm/tuning.h"
#include "comm/arena_exchange.h"
#include "comm/base/environment.h"
#include "comm/host_room.h"
#include "comm/host_segment.h"
#include "comm/poll_engine.h"
#include "comm/transport.h"
#include "telemetry/log.h"

namespace paceline {

/// The direct backend knows every rank from every other: beyond this many, plans do better.
inline constexpr int kMostHostRanks = 64;

/// A value. Ranks find the one in use by the size of the segment.
struct HostLayout {
  int places = 0;               ///< of a room; 0: the segment has none
  std::size_t ring_bytes = 0;   ///< of the transport, for each ordered pair
  std::size_t chunk_bytes = 0;  ///< of the backend; 0: the segment has none

  std::size_t bytes(int ranks) const;
};

/// The layouts of so many ranks of a host, the best first, each of another size: the last are for a
/// /dev/shm that is nearly full. `places` as in HostLayout; `has_backend`: these are all ranks of
/// their group, which the backend serves.
std::vector<HostLayout> host_layouts(int ranks, int places, bool has_backend);

struct HostWorld {
  std::unique_ptr<Transport> transport;
  std::unique_ptr<CollectiveBackend> backend;  ///< borrows the transport
};

/// How the backend carries operations out, and what it says about that.
struct HostMethods {
  std::optional<ShmMethod> forced{};  ///< none: the fastest; the same on every rank
  shm::Tuning tuning{};               ///< the same on every rank
  std::shared_ptr<Log> log{};         ///< null: silent; owners: all that write to it
  bool explains = false;              ///< else only where something does not go as it is forced to
};

/// Makes the room of the processes of a host, which are `group`. They have found a segment of one
/// of host_layouts()'s sizes with as many places, and the arenas of all, or none.
Result<std::shared_ptr<HostRoom>> make_room(std::shared_ptr<PollEngine> engine, const Group& group,
                                            const HostSegment& found, HostArenas arenas);

/// Collective. `members`: by rank of the group, as in ShmPlace. The backend is null if some are
/// elsewhere. Code::kUnavailable: the segment has none of host_layouts()'s sizes.
Result<HostWorld> make_host_world(std::shared_ptr<HostRoom> room, const Group& group,
                                  std::vector<int> members, const HostSegment& found,
                                  const HostMethods& methods = {});

}  // namespace paceline
