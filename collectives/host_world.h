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
#include "comm/host_segment.h"
#include "comm/poll_engine.h"
#include "comm/transport.h"
#include "telemetry/log.h"

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

/// How the backend carries operations out, and what it says about that.
struct HostMethods {
  std::optional<ShmMethod> forced{};  ///< none: the fastest; the same on every rank
  shm::Tuning tuning{};               ///< the same on every rank
  std::shared_ptr<Log> log{};         ///< null: silent; owners: all that write to it
  bool explains = false;              ///< else only where something does not go as it is forced to
};

/// Collective, with what all found: a segment of one of host_layouts()'s sizes, and the arenas of
/// all ranks, or none.
Result<HostWorld> make_host_world(std::shared_ptr<PollEngine> engine, const Group& group,
                                  const HostSegment& found, HostArenas arenas,
                                  const HostMethods& methods = {});

}  // namespace paceline
