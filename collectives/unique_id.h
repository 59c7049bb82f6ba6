// The inside of a UniqueId: what it says, and who serves the meeting that it names.
#pragma once

#include <memory>

#include <paceline/status.h>
#include <paceline/unique_id.h>

#include "comm/job_key.h"
#include "comm/socket.h"
#include "comm/store_server.h"

namespace paceline {

struct MeetingPlace {
  SocketAddress address;
  JobKey key;
};

/// Refuses bytes that make_unique_id() has not made.
Result<MeetingPlace> read_unique_id(const UniqueId& id);

/// The server of an id that this process has made, for the first that asks; then it is the
/// caller's. Null otherwise, also in a forked child of that process.
std::unique_ptr<StoreServer> take_server_of(const UniqueId& id);

}  // namespace paceline
