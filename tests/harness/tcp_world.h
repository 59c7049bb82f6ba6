// A world of ranks over TCP on loopback without a launcher, and the communicator of one rank.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <paceline/communicator.h>

#include "comm/engine.h"
#include "comm/job_key.h"
#include "comm/poll_engine.h"
#include "comm/transport.h"
#include "comm/transport/tcp.h"

namespace paceline::testing {

/// Everything that ranks know before they begin: made by one thread, entered by each rank's own, or
/// by its child process.
class TcpWorld {
 public:
  explicit TcpWorld(int ranks);

  int size() const { return group_.size(); }
  /// This rank's end; once for each rank. The others' ends stay here.
  std::unique_ptr<Transport> enter(int rank, std::shared_ptr<PollEngine> engine);
  /// Closes the doors of all ranks that have not entered: in a child process, or its parent.
  void close_other_doors();

 private:
  std::vector<std::optional<TcpListener>> listeners_;  // indexed by rank
  Group group_;                                        // of no rank yet
  JobKey key_;
};

struct CommunicatorOptions {
  std::string algorithm;  ///< as PACELINE_ALGORITHM
  std::size_t segment_bytes = 4096;
  Duration timeout = std::chrono::seconds(60);
};

/// Over the native backend, with a flight ring of its own.
Communicator communicator_over(std::shared_ptr<Engine> engine, std::unique_ptr<Transport> transport,
                               const CommunicatorOptions& options);

}  // namespace paceline::testing
