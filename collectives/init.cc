// Communicator::init(): from the environment, or an id, to a communicator of the world.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <paceline/communicator.h>

#include "collectives/algo/selector.h"
#include "collectives/backend/native/native.h"
#include "collectives/communicator_core.h"
#include "collectives/failure/store_whereabouts.h"
#include "collectives/host_world.h"
#include "collectives/join_report.h"
#include "collectives/meeting.h"
#include "collectives/tuning_file.h"
#include "collectives/unique_id.h"
#include "comm/base/environment.h"
#include "comm/base/function_ref.h"
#include "comm/base/try.h"
#include "comm/host_interfaces.h"
#include "comm/job_key.h"
#include "comm/poll_engine.h"
#include "comm/rendezvous.h"
#include "comm/transport/tcp.h"

namespace paceline {
namespace {

std::string host_name(const Environment& environment) {
  if (!environment.host.empty()) return environment.host;
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

/// Everything that the making of a world passes from hand to hand.
struct World {
  Environment environment;
  int rank = 0;
  int size = 1;
  int local_ranks = 1;      // of this host
  std::uint32_t epoch = 0;  // how many worlds of the environment this process has met before
  std::atomic<std::uint32_t>* met = nullptr;  // counts them; null: it is not of the environment
  bool is_of_tcp = false;  // what it is split from talks over TCP, and has said why
  // Of a part of another world: as the reader of the launcher's flight ring, if that has one, is
  // to know it. The ring's ranks are empty where they are its own.
  std::string part_name;
  std::vector<int> ring_ranks;
  std::optional<int> part_flight_fd;
  Duration timeout{};
  Duration report_every{};
  TimePoint began{};                   // to be made
  std::shared_ptr<Log> log;            // owners: all that write to it
  std::shared_ptr<PollEngine> engine;  // owners: see Work
};

Status read_ranks(World& world) {
  const Environment& environment = world.environment;
  if (environment.rank.has_value() != environment.world_size.has_value()) {
    return setting_error("only one of RANK and WORLD_SIZE is set; set both or neither");
  }
  world.rank = environment.rank.value_or(0);
  world.size = environment.world_size.value_or(1);
  if (world.rank < world.size) return {};
  return setting_error("RANK=" + std::to_string(world.rank) +
                       " is not below WORLD_SIZE=" + std::to_string(world.size));
}

// If the launcher's ring has no free part for this rank, the launcher does not see its operations.
// The same applies if a wrapper of the rank has closed descriptors. The rank runs in both cases.
std::unique_ptr<FlightRing> open_flight_ring(const World& world) {
  const std::optional<int> memory = world.environment.flight_fd;
  if (!memory) return FlightRing::create_private();
  auto ring = world.part_name.empty() ? FlightRing::open(*memory)
                                      : FlightRing::open_for(*memory, world.part_name);
  if (ring.ok()) return *std::move(ring);
  if (world.part_name.empty() && world.log != nullptr)
    world.log->write(Severity::kInfo,
                     ring.status().text() + "; the launcher does not see this rank's operations");
  return FlightRing::create_private();
}

std::unique_ptr<CollectiveBackend> make_native(const World& world, Transport* transport) {
  NativeBackend::Options options{
      .rank = world.rank,
      .ranks = world.size,
      .algorithm = world.environment.algorithm,
      .in_rank_order = world.environment.determinism == Determinism::kPlacementStable};
  if (world.environment.segment_bytes > 0) {
    options.segment_bytes = world.environment.segment_bytes;
  }
  return std::make_unique<NativeBackend>(transport, std::move(options));
}

Result<Communicator> join_by_id(const UniqueId& id, World world, const InitOptions& options);

// As the ring of the whole knows its ranks.
std::vector<int> ring_ranks_of(std::vector<int> members, const std::vector<int>& whole) {
  if (!whole.empty())
    for (int& one : members) one = whole[static_cast<std::size_t>(one)];
  return members;
}

// A part shares its hosts' CPUs with the whole world, and its flight ring.
Regroup regroup_of(const World& world, bool is_over_tcp) {
  return [determinism = world.environment.determinism, local_ranks = world.local_ranks, is_over_tcp,
          flight_fd = world.environment.flight_fd, whole = world.part_name,
          ring_ranks = world.ring_ranks](const Regrouping& part, InitOptions options) {
    if (!options.determinism) options.determinism = determinism;
    return join_by_id(part.id,
                      {.rank = part.rank,
                       .size = static_cast<int>(part.members.size()),
                       .local_ranks = local_ranks,
                       .is_of_tcp = is_over_tcp,
                       .part_name = whole.empty() ? part.name : whole + "; " + part.name,
                       .ring_ranks = ring_ranks_of(part.members, ring_ranks),
                       .part_flight_fd = flight_fd},
                      options);
  };
}

Result<Communicator> make_communicator(const World& world, Group group,
                                       std::unique_ptr<Transport> transport,
                                       std::unique_ptr<CollectiveBackend> direct,
                                       std::unique_ptr<Whereabouts> whereabouts) {
  auto flight = open_flight_ring(world);
  const bool is_over_tcp = transport != nullptr && direct == nullptr;
  flight->note_join(world.began, world.engine->clock().now());
  std::vector<std::unique_ptr<CollectiveBackend>> backends;
  // Whoever asks for an algorithm asks for a plan.
  if (direct != nullptr && world.environment.algorithm.empty())
    backends.push_back(std::move(direct));
  backends.push_back(make_native(world, transport.get()));
  return Communicator(std::make_unique<CommunicatorCore>(
      CommunicatorCore::Parts{.engine = world.engine,
                              .transport = std::move(transport),
                              .backends = std::move(backends),
                              .flight = std::move(flight),
                              .flight_ranks = world.ring_ranks,
                              .whereabouts = std::move(whereabouts),
                              .log = world.log,
                              .group = std::move(group),
                              .timeout = world.timeout,
                              .report_every = world.report_every,
                              .determinism = world.environment.determinism,
                              .regroup = regroup_of(world, is_over_tcp)}));
}

// What was asked for is said whatever else the log leaves out.
HostMethods methods_of(const World& world, shm::Tuning tuning) {
  const bool explains = world.environment.explain;
  return {.forced = world.environment.shm_method,
          .tuning = std::move(tuning),
          .log = explains ? make_stderr_log({.level = LogLevel::kInfo}) : world.log,
          .explains = explains};
}

// What rank 0 tells the others of it; empty where nothing is known, or of no use.
std::string tuning_note(const World& world) {
  if (world.rank != 0) return "";
  const Result<std::optional<shm::Tuning>> tuning = tuning_of(world.environment);
  if (!tuning.ok() && world.log != nullptr)
    world.log->write(Severity::kWarning, tuning.status().text() + "; it is ignored");
  if (!tuning.ok() || !*tuning) return "";
  const std::string text = shm::to_text(shm::part_for(**tuning, world.size));
  return text.size() <= kMostNote ? text : "";
}

bool names_several_hosts(const Group& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [&](const auto& member) { return member.host != group.members.front().host; });
}

// Empty where the ranks do not share a host, or are not to use it.
Result<HostWorld> share_host(const World& world, StoreClient& store, const Group& group,
                             Deadline deadline) {
  const Environment& environment = world.environment;
  if (environment.backend == BackendChoice::kTcp) return HostWorld();
  HostSegmentRequest request{
      .prefix = "paceline-" + (environment.job_id.empty() ? "" : environment.job_id + "-"),
      .note = tuning_note(world)};
  for (const HostLayout& layout : host_layouts(world.size))
    request.bytes.push_back(layout.bytes(world.size));
  HostSegment found{
      .segment = nullptr,
      .why_not = "more than " + std::to_string(kMostHostRanks) + " ranks cannot share memory"};
  if (world.size <= kMostHostRanks) {
    PACELINE_TRY_ASSIGN(found, find_host_segment(store, group, request, deadline));
  }
  if (found.segment != nullptr) {
    PACELINE_TRY_ASSIGN(HostArenas arenas, exchange_arenas(store, group, MemoryDomain::of_process(),
                                                           {.prefix = request.prefix},
                                                           world.engine->clock(), deadline));
    if (arenas.views.empty() && world.log != nullptr) {
      world.log->write(Severity::kInfo, "operations on buffers use copies: " + arenas.why_not);
    }
    shm::Tuning tuning;
    if (!found.note.empty()) {
      PACELINE_TRY_ASSIGN(tuning, shm::parse_tuning(found.note));
    }
    return make_host_world(world.engine, group, found, std::move(arenas),
                           methods_of(world, std::move(tuning)));
  }
  if (environment.backend == BackendChoice::kShm) {
    return Status(Code::kUnavailable, Scope::kGroup,
                  "PACELINE_BACKEND=shm is not possible, because the ranks cannot share memory: " +
                      found.why_not);
  }
  if (world.rank == 0 && world.log != nullptr) {
    const bool is_expected = found.other_host || names_several_hosts(group) || world.is_of_tcp;
    world.log->write(is_expected ? Severity::kInfo : Severity::kWarning,
                     "the ranks use TCP, because they cannot share memory: " + found.why_not);
  }
  return HostWorld();
}

// A program may start with only some of the launcher's ranks and renumber them.
bool has_launchers_number(const World& world) {
  return world.environment.launched_as ==
         std::to_string(world.rank) + "/" + std::to_string(world.size);
}

JoinReport join_report(const World& world) {
  const std::string again = "call " + std::to_string(world.epoch + 1) + " of init()";
  return JoinReport({.rank = world.rank,
                     .size = world.size,
                     .part = world.epoch > 0 ? again : world.part_name,
                     .every = world.report_every,
                     .log = world.log});
}

Result<Communicator> join(const World& world, Meeting meeting) {
  const Environment& environment = world.environment;
  const Deadline deadline = Deadline::after(world.engine->clock(), world.timeout);
  PACELINE_TRY_ASSIGN(const std::string bind_address, bind_address_of(environment));
  PACELINE_TRY_ASSIGN(TcpListener listener,
                      TcpListener::open(bind_address, environment.port_range));
  const JoinReport report = join_report(world);
  PACELINE_TRY_ASSIGN(
      auto store,
      meeting.outlives_ranks
          ? StoreClient::connect(world.engine, meeting.address, &meeting.key, deadline)
          : report.connect_to_rank_0(world.engine, meeting.address, &meeting.key, deadline));
  report.attach_to(*store);
  const bool launcher_knows = has_launchers_number(world);
  if (!launcher_knows) store->ignore_ended_ranks();
  const Member self{
      .host = host_name(environment), .address = listener.address(), .pid = ::getpid()};
  PACELINE_TRY_ASSIGN(
      Group group,
      rendezvous(*store,
                 {.epoch = world.epoch, .rank = world.rank, .size = world.size, .self = self},
                 deadline));
  if (world.met != nullptr) ++*world.met;
  PACELINE_TRY_ASSIGN(HostWorld joined, share_host(world, *store, group, deadline));
  if (joined.transport == nullptr) {
    PACELINE_TRY_ASSIGN(
        joined.transport,
        make_tcp_transport(world.engine, group, std::move(listener), std::move(meeting.key),
                           {.log = world.log, .integrity = environment.integrity}));
  }
  std::unique_ptr<Whereabouts> whereabouts;
  const bool keeps_store = meeting.outlives_ranks && launcher_knows;
  if (keeps_store) whereabouts = std::make_unique<StoreWhereabouts>(std::move(store));
  PACELINE_TRY_ASSIGN(Communicator communicator,
                      make_communicator(world, std::move(group), std::move(joined.transport),
                                        std::move(joined.backend), std::move(whereabouts)));
  // The store keeps the keys of this rank until its client goes, so all ranks must have read them.
  if (!keeps_store) PACELINE_TRY(communicator.barrier());
  return communicator;
}

Status prepare(World& world, const InitOptions& options) {
  const Environment& environment = world.environment;
  if (options.timeout_ms.count() < 0 || options.timeout_ms > kLongestTimeout)
    return setting_error("timeout_ms " + std::to_string(options.timeout_ms.count()) +
                         " is not allowed; use 0 to 31536000000 (1 year)");
  world.timeout = options.timeout_ms.count() > 0 ? Duration(options.timeout_ms)
                                                 : Duration(environment.timeout_s);
  world.report_every = environment.stall_s;
  if (options.determinism) world.environment.determinism = *options.determinism;
  PACELINE_TRY(
      check_forced({.forced = environment.algorithm,
                    .in_rank_order = environment.determinism == Determinism::kPlacementStable})
          .with_context("PACELINE_ALGORITHM=" + environment.algorithm));
  world.log = make_stderr_log({.level = environment.log_level});
  PACELINE_TRY_ASSIGN(world.engine, PollEngine::create(PollEngine::options_for(
                                        world.local_ranks, host_cpus(environment))));
  world.began = world.engine->clock().now();
  JobKey::keep_from_children(environment);
  return {};
}

Result<Communicator> alone(const World& world) {
  Group group{.members = {{.host = host_name(world.environment), .pid = ::getpid()}}};
  return make_communicator(world, std::move(group), nullptr, nullptr, nullptr);
}

// The communicator of `world`, whose ranks meet at what `meet` returns.
Result<Communicator> make_world(World& world, const InitOptions& options,
                                FunctionRef<Result<Meeting>()> meet) {
  PACELINE_TRY(prepare(world, options));
  if (world.size == 1) return alone(world);
  PACELINE_TRY_ASSIGN(Meeting meeting, meet());
  return join(world, std::move(meeting));
}

Result<Communicator> said_by(const World& world, Result<Communicator> made) {
  if (made.ok()) return made;
  return made.status().with_context("rank " + std::to_string(world.rank) + " of " +
                                    std::to_string(world.size));
}

Result<Communicator> join_by_id(const UniqueId& id, World world, const InitOptions& options) {
  PACELINE_TRY_ASSIGN(world.environment, read_environment());
  // What is no part of the world of the environment has ranks that its ring's reader does not know.
  world.environment.flight_fd = world.part_flight_fd;
  // Alone it meets nobody, and needs no server.
  if (world.size == 1) (void)take_server_of(id);
  return said_by(world, make_world(world, options, [&] { return meeting_of_id(id); }));
}

}  // namespace

// Each world whose ranks have met has keys of its own in the store. So the keys of an earlier world
// are not taken for those of ranks that have not made this call. If a call fails after its ranks
// have met, on some of them or all, the next one meets anew on all.
Result<Communicator> Communicator::init(const InitOptions& options) {
  static std::atomic<std::uint32_t> met{0};
  World world;
  world.epoch = met.load();
  world.met = &met;
  PACELINE_TRY_ASSIGN(world.environment, read_environment());
  PACELINE_TRY(read_ranks(world));
  world.local_ranks = world.environment.local_world_size.value_or(world.size);
  // The launcher could not map the ranks that this one blames to its own numbers.
  if (!has_launchers_number(world))
    world.ring_ranks.assign(static_cast<std::size_t>(world.size), -1);
  return said_by(world, make_world(world, options, [&] {
                   return meeting_of_environment(world.environment, world.rank, world.log);
                 }));
}

Result<Communicator> Communicator::init(const UniqueId& id, int rank, int size,
                                        const InitOptions& options) {
  if (rank < 0 || rank >= size) {
    return setting_error("rank " + std::to_string(rank) + " of " + std::to_string(size) +
                         " does not exist");
  }
  return join_by_id(id, {.rank = rank, .size = size, .local_ranks = size}, options);
}

}  // namespace paceline
