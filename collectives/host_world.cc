#include "collectives/host_world.h"

#include <algorithm>
#include <string>
#include <utility>

#include "collectives/backend/shm/shm.h"
#include "comm/base/cpus.h"
#include "comm/base/try.h"
#include "comm/transport/shm.h"

namespace paceline {
namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
// Two chunks of a rank and its peer's lie in a second-level cache together.
constexpr std::size_t kMostChunkBytes = 512 * kKiB;
// Rings carry what is not the direct backend's: control messages, and plans that were asked for.
constexpr std::size_t kMostRingBytes = 64 * kKiB, kLeastRingBytes = 2 * kKiB;
// Of a whole segment: many jobs share a /dev/shm of the 64 MiB that containers have.
constexpr std::size_t kBudgets[] = {16 * kMiB, 4 * kMiB, kMiB, 512 * kKiB, 256 * kKiB};
// Twice what a short operation takes at most; and about what a yield takes.
constexpr Duration kLinger = std::chrono::microseconds(5);
constexpr Duration kShortLinger = std::chrono::nanoseconds(500);

std::size_t aligned(std::size_t bytes) {
  return (bytes + shm::kPairBytes - 1) / shm::kPairBytes * shm::kPairBytes;
}

std::size_t transport_offset(const HostLayout& layout) {
  return kHostSegmentHeader + HostRoom::bytes_for(layout.places);
}

std::size_t backend_offset(int ranks, const HostLayout& layout) {
  return aligned(transport_offset(layout) + ShmTransport::bytes_for(ranks, layout.ring_bytes));
}

}  // namespace

std::size_t HostLayout::bytes(int ranks) const {
  const std::size_t backend = chunk_bytes > 0 ? shm::Layout::bytes_for(ranks, chunk_bytes) : 0;
  return backend_offset(ranks, *this) + backend;
}

std::vector<HostLayout> host_layouts(int ranks, int places, bool has_backend) {
  std::vector<HostLayout> layouts;
  for (const std::size_t budget : kBudgets) {
    HostLayout layout{.places = places, .ring_bytes = kMostRingBytes};
    while (layout.ring_bytes > kLeastRingBytes && backend_offset(ranks, layout) > budget / 4)
      layout.ring_bytes /= 2;
    const std::size_t used = backend_offset(ranks, layout);
    if (used > budget) continue;
    if (has_backend)
      layout.chunk_bytes = shm::Layout::chunk_bytes_for(ranks, budget - used, kMostChunkBytes);
    const bool is_new = layouts.empty() || layouts.back().bytes(ranks) > layout.bytes(ranks);
    const bool is_whole = !has_backend || layout.chunk_bytes > 0;
    if (is_whole && is_new) layouts.push_back(layout);
  }
  return layouts;
}

Result<std::shared_ptr<HostRoom>> make_room(std::shared_ptr<PollEngine> engine, const Group& group,
                                            const HostSegment& found, HostArenas arenas) {
  HostRoom::Options options{.places = group.size(),
                            .own = group.rank,
                            .shares_cpus = group.size() > found.cpus.count(),
                            // Under a quota time is dear, but ranks that have a CPU each answer
                            // before a yield would be over.
                            .is_wakeful = group.size() <= allowed_cpus(found.cpus)};
  if (!arenas.views.empty())
    options.arenas = {.own = &MemoryDomain::of_process(), .views = std::move(arenas.views)};
  options.kicks = std::move(arenas.kicks);
  // The scheduler evens out as well, but late.
  if (options.shares_cpus) go_to_cpu(group.rank);
  return HostRoom::enter(std::move(engine),
                         {.segment = found.segment, .offset = kHostSegmentHeader},
                         std::move(options));
}

Result<HostWorld> make_host_world(std::shared_ptr<HostRoom> room, const Group& group,
                                  std::vector<int> members, const HostSegment& found,
                                  const HostMethods& methods) {
  const std::shared_ptr<SharedSegment>& segment = found.segment;
  const auto here = ShmPlace{.members = members}.ranks(group.size());
  const auto ranks = static_cast<int>(here.size());
  const bool has_backend = ranks == group.size();
  const auto layouts = host_layouts(ranks, room->places_in(segment), has_backend);
  const auto layout = std::find_if(layouts.begin(), layouts.end(), [&](const HostLayout& one) {
    return one.bytes(ranks) == segment->memory().size();
  });
  if (layout == layouts.end()) {
    return Status(Code::kUnavailable, Scope::kGroup,
                  "the shared memory has " + std::to_string(segment->memory().size()) +
                      " bytes, which this version does not expect; check that all ranks run the "
                      "same version");
  }
  PACELINE_TRY_ASSIGN(
      auto transport,
      make_shm_transport(room, group,
                         {.members = std::move(members),
                          .part = {.segment = segment, .offset = transport_offset(*layout)},
                          .ring_bytes = layout->ring_bytes}));
  HostWorld world;
  if (!has_backend) {
    world.transport = std::move(transport);
    return world;
  }
  std::vector<Ringer> bells;
  for (int rank = 0; rank < ranks; ++rank) bells.push_back(transport->ringer(rank));
  std::byte* const memory = segment->memory().data() + backend_offset(ranks, *layout);
  world.backend = std::make_unique<ShmBackend>(
      shm::Layout(memory, ranks, layout->chunk_bytes), std::move(bells), *transport,
      ShmBackend::Options{.rank = group.rank,
                          .clock = room->engine()->clock(),
                          .linger = room->is_wakeful() ? kLinger : kShortLinger,
                          .shares_cpus = room->shares_cpus(),
                          .registered = room->is_registered(),
                          .arenas = transport->arenas(),
                          .method = methods.forced,
                          .measured = shm::sizes_for(methods.tuning, ranks),
                          .log = methods.log,
                          .says = methods.explains ? shm::MethodReport::Says::kExplanations
                                                   : shm::MethodReport::Says::kWarnings});
  world.transport = std::move(transport);
  return world;
}

}  // namespace paceline
