// A world of ranks over shared memory that has no name: inherited by children, seen by threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "collectives/backend/shm/memory.h"
#include "comm/base/clock.h"
#include "comm/base/environment.h"
#include "comm/shared_segment.h"
#include "telemetry/log.h"
#include "tests/harness/world.h"

namespace paceline::testing {

class SharedWorld final : public World {
 public:
  enum class Backend { kPlans, kDirect, kGathering };
  enum class Ranks { kThreads, kProcesses };
  struct Options {
    /// What a rank has in PACELINE_SHM_METHOD; null: none.
    std::function<std::optional<ShmMethod>(int rank)> method{};
    /// By default as small as it goes, so that operations of moderate length go round the rings of
    /// chunks.
    std::size_t chunk_bytes = 4096;
    /// Where rank 0 explains its methods; null: nowhere. Owners: all that write to it.
    std::shared_ptr<Log> log{};
  };
  /// Threads reach each other's buffers.
  SharedWorld(int ranks, Backend backend, Ranks kind, Options options);
  SharedWorld(int ranks, Backend backend, Ranks kind)
      : SharedWorld(ranks, backend, kind, Options()) {}

  int size() const override { return group_.size(); }
  std::unique_ptr<Transport> enter(int rank, std::shared_ptr<PollEngine> engine) override;
  std::unique_ptr<CollectiveBackend> backend(int rank, Transport& transport) override;

 private:
  const std::shared_ptr<SharedSegment> segment_;  // owners: see ShmPlace
  const SystemClock clock_;
  const Backend backend_;
  const Options options_;
  Arenas arenas_;
  Group group_;  // of no rank yet
};

}  // namespace paceline::testing
