#include "tests/harness/composite_world.h"

#include <utility>

#include <unistd.h>

#include "comm/host_room.h"
#include "comm/transport/composite.h"
#include "comm/transport/shm.h"

namespace paceline::testing {
namespace {

constexpr std::size_t kRingBytes = 8 * 1024;  // as in SharedWorld

}  // namespace

CompositeWorld::CompositeWorld(int ranks) : far_(ranks), hosts_(kHosts) {
  for (int rank = 0; rank < ranks; ++rank) {
    Host& host = hosts_[static_cast<std::size_t>(host_of(rank))];
    host.ranks.push_back(rank);
    host.kicks.push_back(HostRoom::make_kick().value());
  }
  for (Host& host : hosts_) {
    const auto here = static_cast<int>(host.ranks.size());
    host.segment = std::make_shared<SharedSegment>(
        SharedSegment::create_nameless(HostRoom::bytes_for(here) +
                                       ShmTransport::bytes_for(here, kRingBytes) + kRingBytes)
            .value());
  }
}

std::unique_ptr<Transport> CompositeWorld::enter(int rank, std::shared_ptr<PollEngine> engine) {
  auto far = far_.enter(rank, engine);
  const Host& host = hosts_[static_cast<std::size_t>(host_of(rank))];
  const auto here = static_cast<int>(host.ranks.size());
  if (here == 1) return far;
  const int own = rank / kHosts;
  host.segment->take_place(own).value();
  HostRoom::Options options{.places = here, .own = own};
  for (const UniqueFd& kick : host.kicks) options.kicks.emplace_back(::dup(kick.get()));
  auto room =
      HostRoom::enter(std::move(engine), {.segment = host.segment}, std::move(options)).value();
  std::vector<int> members(static_cast<std::size_t>(size()), ShmPlace::kElsewhere);
  for (const int one : host.ranks) members[static_cast<std::size_t>(one)] = one / kHosts;
  auto near =
      make_shm_transport(std::move(room), far->group(),
                         {.members = std::move(members),
                          .part = {.segment = host.segment, .offset = HostRoom::bytes_for(here)},
                          .ring_bytes = kRingBytes})
          .value();
  return make_composite_transport(std::move(near), host.ranks, std::move(far));
}

}  // namespace paceline::testing
