#include "tests/harness/shared_world.h"

#include <utility>

#include "comm/transport/shm.h"

namespace paceline::testing {
namespace {

// Small, so that messages of moderate length go round the end of a ring and wait for room in it.
constexpr ShmOptions kOptions{.ring_bytes = 8 * 1024};

}  // namespace

SharedWorld::SharedWorld(int ranks)
    : segment_(std::make_shared<SharedSegment>(
          SharedSegment::create_nameless(ShmTransport::bytes_for(ranks, kOptions.ring_bytes))
              .value())),
      group_{.name = "test"} {
  group_.members.assign(static_cast<std::size_t>(ranks), {.host = "local"});
}

std::unique_ptr<Transport> SharedWorld::enter(int rank, std::shared_ptr<PollEngine> engine) {
  Group group = group_;
  group.rank = rank;
  segment_->take_place(rank).value();
  return make_shm_transport(std::move(engine), group, {.segment = segment_}, kOptions).value();
}

}  // namespace paceline::testing
