// The native backend: an algorithm from the table, its plan, and the executor over a transport.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "collectives/algo/algorithms.h"
#include "collectives/algo/selector.h"
#include "collectives/backend/backend.h"
#include "collectives/backend/native/executor.h"
#include "comm/base/byte_ranges.h"
#include "telemetry/log.h"

namespace paceline {

class NativeBackend final : public CollectiveBackend {
 public:
  struct Options {
    int rank = 0;
    int ranks = 1;
    /// The cost of messages within a host, and between hosts.
    PathModel within_host = kTcpLoopback;
    PathModel between_hosts = kBetweenHosts;
    /// Empty: the cheapest by the model. Names as in the table of algorithms.
    std::string algorithm;
    /// Longest message of a pipelined algorithm. While one segment is reduced the next travels,
    /// so it wants to be small against the operation and large against what a message costs.
    std::size_t segment_bytes = 256 * 1024;
    /// By rank: the number of its host, as in PlanRequest; empty: all ranks are on one host.
    std::vector<int> hosts{};
    /// Determinism::kPlacementStable.
    bool in_rank_order = false;
    /// Logs the first operation of each kind by each algorithm, with the reason; null: off. Owners:
    /// all that write to it.
    std::shared_ptr<Log> explains{};
  };

  /// The transport is borrowed; null for a group of one.
  NativeBackend(Transport* transport, Options options);

  std::string_view name() const override { return "native"; }
  std::optional<std::size_t> most_bytes(OperationKind kind) const override {
    return is_collective(kind) ? std::optional(SIZE_MAX) : std::nullopt;
  }
  std::size_t small_bytes() const override { return 32 * 1024; }
  Status start(OperationRequest& request) override;
  bool linger(const Clock& clock, TimePoint& now) override;
  bool drive(TimePoint now) override;
  bool ended() const override { return running_->ended(); }
  const Status& outcome() const override { return running_->failure(); }
  void finish() override { running_->finish(); }
  bool overlaps() const override { return true; }
  NextBegin begin_next(OperationRequest& request) override;
  void forget_next() override;
  std::optional<Disagreement> disagreement() const override { return running_->disagreement(); }
  std::vector<int> awaited() const override { return running_->awaited(); }

 private:
  // What an operation reads and writes of its caller's.
  struct Uses {
    ByteRange input, output;
  };
  static Uses uses_of(const Plan& plan, const OperationRequest& request);
  // Operations of the same form come again every step, so their plans are kept.
  struct CachedPlan {
    PlanRequest request;
    std::size_t element_bytes;
    std::uint32_t digest;  // of the algorithm, the segment size and counts that all ranks know
    std::uint64_t last_use;
    std::shared_ptr<const CompiledPlan> plan;  // owners: the cache and the executor
  };
  static constexpr std::size_t kCachedPlans = 64;

  Result<CachedPlan*> plan_for(const OperationRequest& operation);
  void explain(const Algorithm& algorithm, const PlanRequest& request, std::size_t element_bytes,
               const SelectOptions& options);
  CachedPlan* find(const PlanRequest& request, std::size_t element_bytes);
  CachedPlan* insert(CachedPlan fresh);

  const Options options_;
  // The running operation, and the one behind it. While the last messages of the one are awaited,
  // the first of the other leave, so that the wire does not idle between them.
  Executor executors_[2];
  Executor *running_ = &executors_[0], *next_ = &executors_[1];
  bool has_next_ = false;
  Uses running_uses_{{nullptr, 0}, {nullptr, 0}}, next_uses_{{nullptr, 0}, {nullptr, 0}};
  std::vector<CachedPlan> cache_;
  std::uint64_t uses_ = 0;
  std::set<const Algorithm*> explained_;
};

}  // namespace paceline
