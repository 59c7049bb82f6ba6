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

std::size_t backend_offset(int ranks, const HostLayout& layout) {
  return aligned(kHostSegmentHeader + ShmTransport::bytes_for(ranks, layout.ring_bytes));
}

}  // namespace

std::size_t HostLayout::bytes(int ranks) const {
  return backend_offset(ranks, *this) + shm::Layout::bytes_for(ranks, chunk_bytes);
}

std::vector<HostLayout> host_layouts(int ranks) {
  std::vector<HostLayout> layouts;
  for (const std::size_t budget : kBudgets) {
    HostLayout layout{.ring_bytes = kMostRingBytes};
    while (layout.ring_bytes > kLeastRingBytes && backend_offset(ranks, layout) > budget / 4)
      layout.ring_bytes /= 2;
    const std::size_t used = backend_offset(ranks, layout);
    if (used > budget) continue;
    layout.chunk_bytes = shm::Layout::chunk_bytes_for(ranks, budget - used, kMostChunkBytes);
    const bool is_new = layouts.empty() || layouts.back().bytes(ranks) > layout.bytes(ranks);
    if (layout.chunk_bytes > 0 && is_new) layouts.push_back(layout);
  }
  return layouts;
}

Result<HostWorld> make_host_world(std::shared_ptr<PollEngine> engine, const Group& group,
                                  const HostSegment& found, HostArenas arenas,
                                  const HostMethods& methods) {
  const std::shared_ptr<SharedSegment>& segment = found.segment;
  const int ranks = group.size();
  const auto layouts = host_layouts(ranks);
  const auto layout = std::find_if(layouts.begin(), layouts.end(), [&](const HostLayout& one) {
    return one.bytes(ranks) == segment->memory().size();
  });
  if (layout == layouts.end()) {
    return Status(Code::kUnavailable, Scope::kGroup,
                  "the shared memory has " + std::to_string(segment->memory().size()) +
                      " bytes, which this version does not expect; check that all ranks run the "
                      "same version");
  }
  Arenas reached;
  if (!arenas.views.empty())
    reached = {.own = &MemoryDomain::of_process(), .views = std::move(arenas.views)};
  const Clock& clock = engine->clock();
  const bool shares_cpus = ranks > found.cpus.count();
  PACELINE_TRY_ASSIGN(
      auto transport,
      make_shm_transport(
          std::move(engine), group, {.segment = segment, .offset = kHostSegmentHeader},
          {.ring_bytes = layout->ring_bytes, .arenas = reached, .shares_cpus = shares_cpus}));
  std::vector<Doorbell*> bells;
  for (int rank = 0; rank < ranks; ++rank) bells.push_back(&transport->doorbell(rank));
  std::byte* const memory = segment->memory().data() + backend_offset(ranks, *layout);
  HostWorld world;
  // Under a quota time is dear, but ranks that have a CPU each answer before a yield would be over.
  const bool have_time = ranks <= allowed_cpus(found.cpus);
  ShmBackend::Options options{.rank = group.rank,
                              .clock = clock,
                              .linger = have_time ? kLinger : kShortLinger,
                              .shares_cpus = shares_cpus,
                              .arenas = std::move(reached),
                              .method = methods.forced,
                              .measured = shm::sizes_for(methods.tuning, ranks),
                              .log = methods.log,
                              .says = methods.explains ? shm::MethodReport::Says::kExplanations
                                                       : shm::MethodReport::Says::kWarnings};
  // The scheduler evens out as well, but late.
  if (options.shares_cpus) go_to_cpu(group.rank);
  if (have_time) {
    options.registered = Doorbell::register_process();
    if (options.registered) transport->doorbell(group.rank).take_barriers_upon_itself();
  }
  world.backend = std::make_unique<ShmBackend>(shm::Layout(memory, ranks, layout->chunk_bytes),
                                               std::move(bells), *transport, options);
  world.transport = std::move(transport);
  return world;
}

}  // namespace paceline
