// Where the ranks of a communicator find each other: the address and the key of a rendezvous store.
#pragma once

#include <memory>

#include <paceline/status.h>
#include <paceline/unique_id.h>

#include "comm/base/environment.h"
#include "comm/job_key.h"
#include "comm/socket.h"
#include "comm/store_server.h"

namespace paceline {

class Log;

struct Meeting {
  SocketAddress address;
  JobKey key;
  std::unique_ptr<StoreServer> server;  ///< if this rank serves it
  bool outlives_ranks = false;          ///< the launcher's does, and sees the ranks from outside
};

/// The launcher's store, or that of rank 0 at MASTER_ADDR, which this serves if `rank` is 0. An
/// error says which variables are missing or wrong.
Result<Meeting> meeting_of_environment(const Environment& environment, int rank,
                                       const std::shared_ptr<Log>& log);
/// Returns the store of an id from make_unique_id(). The process that made the id hands over the
/// server.
Result<Meeting> meeting_of_id(const UniqueId& id);

}  // namespace paceline
