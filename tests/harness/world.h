// A world of ranks, for the code that starts its ranks as threads or as child processes.
#pragma once

#include <memory>

#include "collectives/backend/backend.h"
#include "comm/poll_engine.h"
#include "comm/transport.h"

namespace paceline::testing {

/// What ranks know before they begin. One thread makes it; the thread or the child process of each
/// rank enters it.
class World {
 public:
  virtual ~World() = default;

  virtual int size() const = 0;
  /// The transport of this rank; called once for each rank. The transports of the others stay here.
  virtual std::unique_ptr<Transport> enter(int rank, std::shared_ptr<PollEngine> engine) = 0;
  /// The direct backend over the transport that enter() returned to that rank. Null if this world
  /// has no direct backend, so that all operations run as plans.
  virtual std::unique_ptr<CollectiveBackend> backend(int, Transport&) { return nullptr; }
  /// Closes the listeners of all ranks that have not entered: in a child process, or its parent.
  virtual void close_other_doors() {}
};

}  // namespace paceline::testing
