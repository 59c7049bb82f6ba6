// What a world of ranks is to whoever starts them: threads and child processes enter it.
#pragma once

#include <memory>

#include "collectives/backend/backend.h"
#include "comm/poll_engine.h"
#include "comm/transport.h"

namespace paceline::testing {

/// Everything that ranks know before they begin: made by one thread, entered by each rank's own, or
/// by its child process.
class World {
 public:
  virtual ~World() = default;

  virtual int size() const = 0;
  /// This rank's end; once for each rank. The others' ends stay here.
  virtual std::unique_ptr<Transport> enter(int rank, std::shared_ptr<PollEngine> engine) = 0;
  /// The direct backend over what enter() has returned to that rank; null where this world has
  /// none, and plans do all.
  virtual std::unique_ptr<CollectiveBackend> backend(int, Transport&) { return nullptr; }
  /// Closes the doors of all ranks that have not entered: in a child process, or its parent.
  virtual void close_other_doors() {}
};

}  // namespace paceline::testing
