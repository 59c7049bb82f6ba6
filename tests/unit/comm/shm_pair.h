// Two ranks of this process over shared memory, driven by hand.
#pragma once

#include <memory>
#include <vector>

#include "comm/transport/shm.h"

namespace paceline::testing {

class ShmPair {
 public:
  ShmPair(const std::shared_ptr<SharedSegment>& segment, const ShmOptions& options) {
    for (int rank = 0; rank < 2; ++rank) {
      engines_.push_back(PollEngine::create({}).value());
      Group group{.name = "test", .rank = rank};
      group.members.assign(2, {.host = "here"});
      ends_.push_back(
          make_shm_transport(engines_.back(), group, {.segment = segment}, options).value());
    }
  }
  ShmTransport& writer() { return *ends_[0]; }  ///< rank 0
  ShmTransport& reader() { return *ends_[1]; }  ///< rank 1

  void drive(int turns) {
    for (int turn = 0; turn < turns; ++turn)
      for (std::size_t rank = 0; rank < ends_.size(); ++rank) drive_one(rank);
  }
  bool drive_one(std::size_t rank) { return ends_[rank]->drive(engines_[rank]->clock().now()); }
  /// As a rank does that is gone for good.
  void destroy_writer() { ends_[0].reset(); }

 private:
  std::vector<std::shared_ptr<PollEngine>> engines_;
  std::vector<std::unique_ptr<ShmTransport>> ends_;
};

}  // namespace paceline::testing
