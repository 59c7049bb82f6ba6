// The ablated backend: every operation ends at once, without any message, to show how fast a
// program would be if communication were free (`paceline run --ablate comm`). Results are wrong on
// purpose, but every output is set:
//
//   operation                               output
//   reductions                              this rank's input
//   gather, all_gather, all_to_all and …_v  this rank's own block in the place of each other block
//   broadcast                               the buffer as it is
//   scatter                                 the root's own block; on other ranks zeros
//   receive                                 zeros, except from this rank itself
//
// If a block is longer than this rank's own block, zeros follow. Copies take their time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "collectives/backend/backend.h"

namespace paceline {

class AblatedBackend final : public CollectiveBackend {
 public:
  AblatedBackend(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  std::string_view name() const override { return "ablated"; }
  std::optional<std::size_t> most_bytes(OperationKind) const override { return SIZE_MAX; }
  std::size_t small_bytes() const override { return 0; }
  Status start(OperationRequest& request) override;
  bool linger(const Clock& clock, TimePoint& now) override;
  bool drive(TimePoint) override { return false; }
  bool ended() const override { return true; }
  const Status& outcome() const override { return success_; }
  void finish() override { request_ = nullptr; }
  std::optional<Disagreement> disagreement() const override { return std::nullopt; }
  std::vector<int> awaited() const override { return {}; }

 private:
  void answer_collective() const;
  void answer_messages() const;

  const int rank_, ranks_;
  const Status success_;
  const OperationRequest* request_ = nullptr;  // the running one
};

}  // namespace paceline
