// Warnings of a rank that waits for others to join.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <paceline/status.h>

#include "comm/poll_engine.h"
#include "comm/store_client.h"
#include "telemetry/log.h"

namespace paceline {

/// A value. Repeats the warning at intervals. One of the ranks that have joined prints it. While
/// rank 0 is missing, all of them print it, because none knows of the others.
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

  /// From now on, waits of this store client are reported.
  void attach_to(StoreClient& store) const;
  /// Like StoreClient::connect(), for a store that rank 0 serves: there is no listener before rank
  /// 0 has started.
  Result<std::unique_ptr<StoreClient>> connect_to_rank_0(const std::shared_ptr<PollEngine>& engine,
                                                         const SocketAddress& address,
                                                         const JobKey* key,
                                                         Deadline deadline) const;
  /// `missing` is ascending. The lowest rank that has joined prints for all.
  void say(std::span<const int> missing, Duration waited) const;

 private:
  void write(std::span<const int> missing, Duration waited) const;

  Options options_;
};

}  // namespace paceline
