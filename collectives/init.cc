// Communicator::init(): from the environment, or an id, to a communicator of the world.

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <paceline/communicator.h>

#include "collectives/communicator_core.h"
#include "collectives/failure/store_whereabouts.h"
#include "collectives/host_world.h"
#include "collectives/join_report.h"
#include "collectives/make_communicator.h"
#include "collectives/meeting.h"
#include "collectives/path_probe.h"
#include "collectives/port.h"
#include "collectives/requests.h"
#include "collectives/unique_id.h"
#include "comm/base/environment.h"
#include "comm/base/function_ref.h"
#include "comm/base/try.h"
#include "comm/exchange.h"
#include "comm/rendezvous.h"
#include "comm/runtime.h"
#include "telemetry/flight_ring.h"

namespace paceline {
namespace {

/// Everything that the making of a world passes from hand to hand.
struct World {
  Environment environment;
  int rank = 0;
  int size = 1;
  int local_ranks = 1;      // of this host
  std::uint32_t epoch = 0;  // how many worlds of the environment this process has met before
  std::atomic<std::uint32_t>* met = nullptr;  // counts them; null: it is not of the environment
  std::vector<int> flight_ranks{};            // as in Membership
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

// What the ranks of this host have in common.
struct Shared {
  HostSegment segment;
  Status failure;  // of this rank: it cannot go on
};

// On this host. With a `kick` they sleep where connections to other hosts wake them, too.
Result<Shared> share_memory(const CommunicatorRequest& made, StoreClient& store, UniqueFd kick,
                            Deadline deadline) {
  Runtime& runtime = *made.membership.runtime;
  const std::vector<int>& ranks = made.hosts.beside(made.group.rank);
  if (ranks.size() == 1) return Shared{.segment = {.why_not = "no other rank has its /dev/shm"}};
  if (ranks.size() > kMostHostRanks)
    return Shared{.segment = {.why_not = "more than " + std::to_string(kMostHostRanks) +
                                         " ranks cannot share memory"}};
  StoreExchange beside(store, made.group, ranks);
  PACELINE_TRY_ASSIGN(HostSegment found, find_group_segment(made, beside, deadline));
  if (found.segment == nullptr) return Shared{.segment = std::move(found)};
  const Group here = subgroup(made.group, ranks);
  PACELINE_TRY_ASSIGN(HostArenas arenas,
                      exchange_arenas(beside, here, MemoryDomain::of_process(),
                                      {.prefix = runtime.shared_prefix(),
                                       .kick = kick ? std::optional(kick.get()) : std::nullopt,
                                       .names = ranks},
                                      runtime.clock(), deadline));
  if (arenas.views.empty() && kick) return Shared{.segment = {.why_not = arenas.why_not}};
  if (arenas.views.empty() && runtime.log() != nullptr)
    runtime.log()->write(Severity::kInfo, "operations on buffers use copies: " + arenas.why_not);
  auto room = make_room(runtime.engine(), here, found, std::move(arenas));
  if (room.ok()) runtime.set_room(*room);
  return Shared{.segment = std::move(found), .failure = room.status()};
}

// The first rank of each host gives the reason why its ranks do not share memory.
void say_why_not(const CommunicatorRequest& made, const HostSegment& found) {
  const Group& group = made.group;
  const std::vector<int>& beside = made.hosts.beside(group.rank);
  if (found.segment != nullptr || beside.front() != group.rank) return;
  const std::string ranks = "the ranks of " + group.self().host;
  if (beside.size() > 1) return say_over_tcp(*made.membership.runtime, ranks, found.why_not);
  // Some that are not beside this one may be on a host of the same name.
  std::vector<int> alike;
  for (int rank = 0; rank < group.size(); ++rank)
    if (group.members[static_cast<std::size_t>(rank)].host == group.self().host)
      alike.push_back(rank);
  if (alike.size() > 1 && alike.front() == group.rank)
    say_over_tcp(*made.membership.runtime, ranks, "they do not have the same /dev/shm");
}

// Only Determinism::kFast chooses by measured times. A forced algorithm needs no choice.
bool decides_by_time(const CommunicatorRequest& made) {
  return made.terms.determinism == Determinism::kFast &&
         made.membership.runtime->environment().algorithm.empty();
}

// A rank does not know whether others share memory, nor their settings. Sets the hosts of those
// that do; true if all ranks want to measure the path between hosts.
Result<bool> agree_on_hosts(CommunicatorRequest& made, const HostSegment& found, Exchange& exchange,
                            Deadline deadline) {
  const int rank = made.group.rank;
  const int room = found.segment != nullptr ? made.hosts.beside(rank).front() : rank;
  const std::string measures = decides_by_time(made) ? " measures" : "";
  PACELINE_TRY_ASSIGN(
      const auto texts,
      exchange.all({.key = "room", .task = "said which ranks it shares memory with"},
                   std::to_string(room) + measures, deadline));
  std::vector<std::string> rooms;
  bool all_measure = true;
  for (const std::string& text : texts) {
    rooms.push_back(text.substr(0, text.find(' ')));
    all_measure = all_measure && rooms.back() != text;
  }
  made.hosts = HostMap::of(rooms);
  return all_measure;
}

// The processes find out which of them share a host, and what they reach each other by. `listener`
// is theirs where not all share memory.
Status meet_others(CommunicatorRequest& made, StoreClient& store, TcpListener listener,
                   Deadline deadline) {
  Runtime& runtime = *made.membership.runtime;
  const Environment& environment = runtime.environment();
  const Group& group = made.group;
  StoreExchange exchange(store, group);
  made.hosts = HostMap::apart(group.size());
  HostSegment found;
  Status failure;
  if (environment.backend != BackendChoice::kTcp) {
    PACELINE_TRY_ASSIGN(made.hosts, map_hosts(exchange, "/dev/shm", deadline));
    UniqueFd kick;
    if (!made.hosts.is_one()) {
      PACELINE_TRY_ASSIGN(kick, HostRoom::make_kick());
    }
    PACELINE_TRY_ASSIGN(Shared shared, share_memory(made, store, std::move(kick), deadline));
    found = std::move(shared.segment);
    say_why_not(made, found);
    failure = shared.failure;
  }
  bool measures = false;
  if (!made.hosts.is_one() || found.segment == nullptr) {
    PACELINE_TRY_ASSIGN(measures, agree_on_hosts(made, found, exchange, deadline));
  }
  PACELINE_TRY(failure);
  runtime.set_hosts(made.hosts);
  if (environment.backend == BackendChoice::kShm && !made.hosts.is_one())
    return Status(
        Code::kUnavailable, Scope::kGroup,
        "PACELINE_BACKEND=shm is not possible, because the ranks cannot share memory: " +
            (found.segment != nullptr ? std::string("they run on several hosts") : found.why_not));
  if (!made.hosts.is_one()) PACELINE_TRY(open_port(runtime, std::move(listener)));
  PACELINE_TRY(make_world(made, found));
  if (!measures) return {};
  PACELINE_TRY_ASSIGN(made.membership.between_hosts,
                      measure_between_hosts(*made.world.transport, *runtime.engine(), made.hosts,
                                            exchange, deadline));
  if (group.rank == 0 && runtime.log() != nullptr)
    runtime.log()->write(Severity::kInfo, "between hosts a message takes " +
                                              to_text(*made.membership.between_hosts));
  return {};
}

// A program may start with only some of the launcher's ranks and renumber them.
bool has_launchers_number(const World& world) {
  return world.environment.launched_as ==
         std::to_string(world.rank) + "/" + std::to_string(world.size);
}

JoinReport join_report(const World& world, const std::shared_ptr<Log>& log) {
  const std::string again = "call " + std::to_string(world.epoch + 1) + " of init()";
  return JoinReport({.rank = world.rank,
                     .size = world.size,
                     .part = world.epoch > 0 ? again : "",
                     .every = world.environment.stall_s,
                     .log = log});
}

// The launcher hears of it even if this rank never finds the others.
void note_joining(const Environment& environment, TimePoint began) {
  if (!environment.flight_fd) return;
  if (const auto ring = FlightRing::open(*environment.flight_fd); ring.ok())
    (*ring)->note_joining(began);
}

// The ranks of `world` meet, and have a communicator on `made.membership`.
Result<Communicator> join(const World& world, Meeting meeting, CommunicatorRequest made) {
  Runtime& runtime = *made.membership.runtime;
  const Deadline deadline = Deadline::after(runtime.clock(), made.terms.timeout);
  PACELINE_TRY_ASSIGN(TcpListener listener, listen_for_ranks(runtime.environment()));
  const JoinReport report = join_report(world, runtime.log());
  note_joining(runtime.environment(), made.began);
  PACELINE_TRY_ASSIGN(
      auto store,
      meeting.outlives_ranks
          ? StoreClient::connect(runtime.engine(), meeting.address, &meeting.key, deadline)
          : report.connect_to_rank_0(runtime.engine(), meeting.address, &meeting.key, deadline));
  report.attach_to(*store);
  const bool launcher_knows = has_launchers_number(world);
  if (!launcher_knows) store->ignore_ended_ranks();
  const Member self{.host = runtime.host_name(), .address = listener.address(), .pid = ::getpid()};
  PACELINE_TRY_ASSIGN(
      made.group,
      rendezvous(*store,
                 {.epoch = world.epoch, .rank = world.rank, .size = world.size, .self = self},
                 deadline));
  if (world.met != nullptr) ++*world.met;
  runtime.set_world(made.group);
  runtime.set_key(std::move(meeting.key));
  PACELINE_TRY(meet_others(made, *store, std::move(listener), deadline));
  const bool keeps_store = meeting.outlives_ranks && launcher_knows;
  if (keeps_store) made.whereabouts = std::make_unique<StoreWhereabouts>(std::move(store));
  Communicator communicator = make_communicator(std::move(made));
  // The store keeps the keys of this rank until its client goes, so all ranks must have read them.
  if (!keeps_store) PACELINE_TRY(communicator.core()->control().run(requests::barrier()));
  return communicator;
}

// `paceline run --ablate` has its own warning.
void warn_of_ablation(const Runtime& runtime) {
  const Environment& environment = runtime.environment();
  if (!environment.ablation.communication || !environment.job_id.empty()) return;
  if (runtime.log() != nullptr)
    runtime.log()->write(Severity::kWarning,
                         "PACELINE_ABLATE=" + environment.ablation.to_text() +
                             ": operations send no messages, so all results are wrong");
}

// The communicator of `world`, whose ranks meet at what `meet` returns.
Result<Communicator> make_communicator_of(
    const World& world, const InitOptions& options,
    FunctionRef<Result<Meeting>(const std::shared_ptr<Log>&)> meet) {
  const Environment& environment = world.environment;
  CommunicatorRequest made;
  PACELINE_TRY_ASSIGN(
      made.terms,
      terms_of(options, {.timeout = environment.timeout_s, .determinism = environment.determinism},
               environment));
  PACELINE_TRY_ASSIGN(auto runtime, Runtime::create(environment, world.local_ranks));
  made.began = runtime->clock().now();
  made.membership = {
      .runtime = runtime, .flight_ranks = world.flight_ranks, .name = made.terms.name};
  if (world.size == 1) {
    made.group.members = {{.host = runtime->host_name(), .pid = ::getpid()}};
    made.hosts = HostMap::apart(1);
    runtime->set_hosts(made.hosts);
    return make_communicator(std::move(made));
  }
  if (world.rank == 0) warn_of_ablation(*runtime);
  PACELINE_TRY_ASSIGN(Meeting meeting, meet(runtime->log()));
  return join(world, std::move(meeting), std::move(made));
}

Result<Communicator> said_by(const World& world, Result<Communicator> made) {
  if (made.ok()) return made;
  return made.status().with_context("rank " + std::to_string(world.rank) + " of " +
                                    std::to_string(world.size));
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
    world.flight_ranks.assign(static_cast<std::size_t>(world.size), -1);
  return said_by(world, make_communicator_of(world, options, [&](const std::shared_ptr<Log>& log) {
                   return meeting_of_environment(world.environment, world.rank, log);
                 }));
}

Result<Communicator> Communicator::init(const UniqueId& id, int rank, int size,
                                        const InitOptions& options) {
  if (rank < 0 || rank >= size) {
    return setting_error("rank " + std::to_string(rank) + " of " + std::to_string(size) +
                         " does not exist");
  }
  World world{.rank = rank, .size = size, .local_ranks = size};
  PACELINE_TRY_ASSIGN(world.environment, read_environment());
  // Its ranks are not those that the reader of the launcher's ring knows.
  world.environment.flight_fd.reset();
  // Alone it meets nobody, and needs no server.
  if (size == 1) (void)take_server_of(id);
  return said_by(world, make_communicator_of(world, options, [&](const std::shared_ptr<Log>&) {
                   return meeting_of_id(id);
                 }));
}

}  // namespace paceline
