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

/// Moves the server of an id of this process to the first caller that asks for it. Null otherwise,
/// and in a forked child.
std::unique_ptr<StoreServer> take_server_of(const UniqueId& id);

}  // namespace paceline
