// Two ranks of this process over shared memory, driven by hand.
#pragma once

#include <memory>
#include <vector>

#include "comm/transport/shm.h"

namespace paceline::testing {

class ShmPair {
 public:
  struct Options {
    Arenas arenas{};
    bool shares_cpus = false;
  };
  /// The segment has bytes_for() the rings.
  ShmPair(const std::shared_ptr<SharedSegment>& segment, std::size_t ring_bytes,
          const Options& options) {
    for (int rank = 0; rank < 2; ++rank) {
      engines_.push_back(PollEngine::create({}).value());
      Group group{.name = "test", .rank = rank};
      group.members.assign(2, {.host = "here"});
      auto room = HostRoom::enter(engines_.back(), {.segment = segment},
                                  {.places = 2,
                                   .own = rank,
                                   .arenas = options.arenas,
                                   .shares_cpus = options.shares_cpus})
                      .value();
      const SegmentPart rings{.segment = segment, .offset = HostRoom::bytes_for(2)};
      ends_.push_back(
          make_shm_transport(std::move(room), group, {.part = rings, .ring_bytes = ring_bytes})
              .value());
    }
  }
  static std::size_t bytes_for(std::size_t ring_bytes) {
    return HostRoom::bytes_for(2) + ShmTransport::bytes_for(2, ring_bytes);
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
