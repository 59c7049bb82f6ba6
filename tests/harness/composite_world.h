// A world of ranks on two hosts, as far as they know: even ranks share memory, and so do odd ones.
// An even and an odd rank reach each other over TCP on loopback.
#pragma once

#include <memory>
#include <vector>

#include "comm/base/unique_fd.h"
#include "comm/shared_segment.h"
#include "tests/harness/tcp_world.h"
#include "tests/harness/world.h"

namespace paceline::testing {

class CompositeWorld final : public World {
 public:
  explicit CompositeWorld(int ranks);

  static constexpr int kHosts = 2;
  static int host_of(int rank) { return rank % kHosts; }

  int size() const override { return far_.size(); }
  std::unique_ptr<Transport> enter(int rank, std::shared_ptr<PollEngine> engine) override;
  void close_other_doors() override { far_.close_other_doors(); }

 private:
  struct Host {
    std::shared_ptr<SharedSegment> segment;  // owners: see SegmentPart
    std::vector<UniqueFd> kicks;             // by place
    std::vector<int> ranks;
  };

  TcpWorld far_;
  std::vector<Host> hosts_;
};

}  // namespace paceline::testing
