// A world of ranks over shared memory that has no name: inherited by children, seen by threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "collectives/backend/shm/memory.h"
#include "comm/base/clock.h"
#include "comm/base/environment.h"
#include "comm/shared_segment.h"
#include "tests/harness/world.h"

namespace paceline::testing {

class SharedWorld final : public World {
 public:
  enum class Backend { kPlans, kDirect, kGathering };
  enum class Ranks { kThreads, kProcesses };
  /// What a rank has in PACELINE_SHM_METHOD.
  using MethodOf = std::function<std::optional<ShmMethod>(int rank)>;
  /// Threads reach each other's buffers. `method` may be null: none.
  SharedWorld(int ranks, Backend backend, Ranks kind, MethodOf method = nullptr);

  int size() const override { return group_.size(); }
  std::unique_ptr<Transport> enter(int rank, std::shared_ptr<PollEngine> engine) override;
  std::unique_ptr<CollectiveBackend> backend(int rank, Transport& transport) override;

 private:
  const std::shared_ptr<SharedSegment> segment_;  // owners: see ShmPlace
  const SystemClock clock_;
  const Backend backend_;
  const MethodOf method_;
  Arenas arenas_;
  Group group_;  // of no rank yet
};

}  // namespace paceline::testing
