// What a rank says while it waits for others that have not come to join it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <paceline/status.h>

#include "comm/poll_engine.h"
#include "comm/store_client.h"
#include "telemetry/log.h"

namespace paceline {

/// A value. Warns each time that a while has passed, on one rank of those that have come; as long
/// as rank 0 is absent on all of them, as none of them knows of the others.
class JoinReport {
 public:
  struct Options {
    int rank = 0;
    int size = 1;
    std::string part;          ///< the name of a part of the world; empty: the world
    Duration every{};          ///< PACELINE_STALL_S
    std::shared_ptr<Log> log;  ///< null: nothing is said. Owners: all that write to it
  };
  explicit JoinReport(Options options) : options_(std::move(options)) {}

  /// Waits of the store's client are reported from now on.
  void attach_to(StoreClient& store) const;
  /// StoreClient::connect(), where rank 0 serves the store: nobody answers before it has come.
  Result<std::unique_ptr<StoreClient>> connect_to_rank_0(const std::shared_ptr<PollEngine>& engine,
                                                         const SocketAddress& address,
                                                         const JobKey* key,
                                                         Deadline deadline) const;
  /// `missing` is ascending. The first of the ranks that have come speaks for all of them.
  void say(std::span<const int> missing, Duration waited) const;

 private:
  void write(std::span<const int> missing, Duration waited) const;

  Options options_;
};

}  // namespace paceline
