#include "tests/harness/shared_world.h"

#include <utility>
#include <vector>

#include <unistd.h>

#include "collectives/backend/shm/shm.h"
#include "comm/transport/shm.h"

namespace paceline::testing {
namespace {

// Small, so that messages of moderate length go round the end of a ring and wait for room in it.
constexpr std::size_t kRingBytes = 8 * 1024;

std::size_t backend_offset(int ranks) {
  const std::size_t used = HostRoom::bytes_for(ranks) + ShmTransport::bytes_for(ranks, kRingBytes);
  return used + shm::kPairBytes - used % shm::kPairBytes;
}

}  // namespace

SharedWorld::SharedWorld(int ranks, Backend backend, Ranks kind, Options options)
    : segment_(std::make_shared<SharedSegment>(
          SharedSegment::create_nameless(backend_offset(ranks) +
                                         shm::Layout::bytes_for(ranks, options.chunk_bytes))
              .value())),
      backend_(backend),
      options_(std::move(options)),
      group_{.name = "test"} {
  group_.members.assign(static_cast<std::size_t>(ranks), {.host = "local"});
  if (kind == Ranks::kProcesses) return;
  arenas_.own = &MemoryDomain::of_process();
  for (int rank = 0; rank < ranks; ++rank) {
    UniqueFd file(::dup(arenas_.own->file().value()));
    arenas_.views.push_back(ArenaView::open(std::move(file)).value());
  }
}

std::unique_ptr<Transport> SharedWorld::enter(int rank, std::shared_ptr<PollEngine> engine) {
  Group group = group_;
  group.rank = rank;
  segment_->take_place(rank).value();
  auto room = HostRoom::enter(std::move(engine), {.segment = segment_},
                              {.places = size(), .own = rank, .arenas = arenas_})
                  .value();
  return make_shm_transport(std::move(room), group,
                            {.part = {.segment = segment_, .offset = HostRoom::bytes_for(size())},
                             .ring_bytes = kRingBytes})
      .value();
}

std::unique_ptr<CollectiveBackend> SharedWorld::backend(int rank, Transport& transport) {
  if (backend_ == Backend::kPlans) return nullptr;
  auto& shared = static_cast<ShmTransport&>(transport);
  std::vector<Ringer> bells;
  for (int peer = 0; peer < size(); ++peer) bells.push_back(shared.ringer(peer));
  return std::make_unique<ShmBackend>(
      shm::Layout(segment_->memory().data() + backend_offset(size()), size(), options_.chunk_bytes),
      std::move(bells), transport,
      ShmBackend::Options{.rank = rank,
                          .clock = clock_,
                          .shares_cpus = backend_ == Backend::kGathering,
                          .arenas = arenas_,
                          .method = options_.method ? options_.method(rank) : std::nullopt,
                          .log = options_.log,
                          .says = shm::MethodReport::Says::kExplanations});
}

}  // namespace paceline::testing
