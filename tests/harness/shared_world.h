// A world of ranks over shared memory that has no name: inherited by children, seen by threads.
#pragma once

#include <memory>

#include "collectives/backend/shm/memory.h"
#include "comm/shared_segment.h"
#include "tests/harness/world.h"

namespace paceline::testing {

class SharedWorld final : public World {
 public:
  enum class Backend { kPlans, kDirect, kGathering };
  enum class Ranks { kThreads, kProcesses };
  /// Threads reach each other's buffers.
  SharedWorld(int ranks, Backend backend, Ranks kind);

  int size() const override { return group_.size(); }
  std::unique_ptr<Transport> enter(int rank, std::shared_ptr<PollEngine> engine) override;
  std::unique_ptr<CollectiveBackend> backend(int rank, Transport& transport) override;

 private:
  const std::shared_ptr<SharedSegment> segment_;  // owners: see ShmPlace
  const Backend backend_;
  Arenas arenas_;
  Group group_;  // of no rank yet
};

}  // namespace paceline::testing
