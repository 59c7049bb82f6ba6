#include "collectives/make_communicator.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "collectives/algo/selector.h"
#include "collectives/backend/native/native.h"
#include "collectives/backend/shm/tuning.h"
#include "collectives/communicator_core.h"
#include "collectives/tuning_file.h"
#include "comm/base/try.h"
#include "comm/transport/composite.h"
#include "comm/transport/shm.h"
#include "comm/transport/tcp.h"

namespace paceline {
namespace {

std::unique_ptr<CollectiveBackend> make_native(const CommunicatorRequest& request) {
  const Environment& environment = request.membership.runtime->environment();
  NativeBackend::Options options{
      .rank = request.group.rank,
      .ranks = request.group.size(),
      .algorithm = environment.algorithm,
      .in_rank_order = request.terms.determinism == Determinism::kPlacementStable};
  if (request.group.size() > 1) {
    GroupHosts hosts(request.membership.runtime->hosts(), request.membership, request.group.rank,
                     request.group.size());
    if (!hosts.is_one()) options.hosts = std::move(hosts.map.host);
  }
  if (environment.segment_bytes > 0) options.segment_bytes = environment.segment_bytes;
  return std::make_unique<NativeBackend>(request.world.transport.get(), std::move(options));
}

// What rank 0 tells the others of it; empty where nothing is known, or of no use.
std::string tuning_note(const Runtime& runtime, const Group& group) {
  if (group.rank != 0) return "";
  const Result<std::optional<shm::Tuning>> tuning = tuning_of(runtime.environment());
  if (!tuning.ok() && runtime.log() != nullptr)
    runtime.log()->write(Severity::kWarning, tuning.status().text() + "; it is ignored");
  if (!tuning.ok() || !*tuning) return "";
  const std::string text = shm::to_text(shm::part_for(**tuning, group.size()));
  return text.size() <= kMostNote ? text : "";
}

// What was asked for is said whatever else the log leaves out.
Result<HostMethods> methods_of(const Runtime& runtime, const std::string& note) {
  const Environment& environment = runtime.environment();
  HostMethods methods{
      .forced = environment.shm_method,
      .log = environment.explain ? make_stderr_log({.level = LogLevel::kInfo}) : runtime.log(),
      .explains = environment.explain};
  if (!note.empty()) {
    PACELINE_TRY_ASSIGN(methods.tuning, shm::parse_tuning(note));
  }
  return methods;
}

}  // namespace

Result<CommunicatorTerms> terms_of(const InitOptions& options, const CommunicatorTerms& otherwise,
                                   const Environment& environment) {
  if (options.timeout_ms.count() < 0 || options.timeout_ms > kLongestTimeout)
    return setting_error("timeout_ms " + std::to_string(options.timeout_ms.count()) +
                         " is not allowed; use 0 to 31536000000 (1 year)");
  CommunicatorTerms terms = otherwise;
  if (options.timeout_ms.count() > 0) terms.timeout = options.timeout_ms;
  if (options.determinism) terms.determinism = *options.determinism;
  PACELINE_TRY(check_forced({.forced = environment.algorithm,
                             .in_rank_order = terms.determinism == Determinism::kPlacementStable})
                   .with_context("PACELINE_ALGORITHM=" + environment.algorithm));
  return terms;
}

Communicator make_communicator(CommunicatorRequest request) {
  const std::shared_ptr<Runtime>& runtime = request.membership.runtime;
  auto flight = runtime->flight_ring(request.membership.name);
  flight->note_join(request.began, runtime->clock().now());
  std::vector<std::unique_ptr<CollectiveBackend>> backends;
  // Whoever asks for an algorithm asks for a plan.
  if (request.world.backend != nullptr && runtime->environment().algorithm.empty())
    backends.push_back(std::move(request.world.backend));
  backends.push_back(make_native(request));
  return Communicator(std::make_unique<CommunicatorCore>(
      CommunicatorCore::Parts{.engine = runtime->engine(),
                              .transport = std::move(request.world.transport),
                              .backends = std::move(backends),
                              .flight = std::move(flight),
                              .whereabouts = std::move(request.whereabouts),
                              .log = runtime->log(),
                              .group = std::move(request.group),
                              .timeout = request.terms.timeout,
                              .report_every = runtime->environment().stall_s,
                              .determinism = request.terms.determinism,
                              .membership = std::move(request.membership)}));
}

GroupHosts::GroupHosts(const HostMap& of_processes, const Membership& membership, int rank,
                       int size) {
  std::vector<int> processes = membership.processes;
  for (int i = 0; processes.size() < static_cast<std::size_t>(size); ++i) processes.push_back(i);
  map = of_processes.part(processes);
  beside = map.beside(rank);
}

// The first groups have as much as makes them fast, and a thousand of them together have a few
// hundred MiB at most: each takes up to a quarter of what is left of this, or the least there is.
constexpr std::size_t kSharedBytes = std::size_t{128} << 20;

Result<HostSegment> find_group_segment(Runtime& runtime, const Group& group,
                                       const GroupHosts& hosts, int places, Exchange& exchange,
                                       Deadline deadline) {
  Group here{.name = group.name, .epoch = group.epoch, .rank = hosts.map.place_of(group.rank)};
  for (const int rank : hosts.beside)
    here.members.push_back(group.members[static_cast<std::size_t>(rank)]);
  HostSegmentRequest request{
      .prefix = runtime.shared_prefix(), .note = tuning_note(runtime, here), .names = hosts.beside};
  const std::size_t left = kSharedBytes - std::min(runtime.shared_bytes(), kSharedBytes);
  const auto layouts =
      hosts.is_one() ? host_layouts(here.size(), places) : host_layouts_without_backend(places);
  for (const HostLayout& layout : layouts) {
    const bool was_too_large = !request.bytes.empty() && request.bytes.back() > left / 4;
    if (was_too_large) request.bytes.clear();
    request.bytes.push_back(layout.bytes(here.size()));
  }
  auto found = find_host_segment(exchange, here, request, deadline);
  if (found.ok() && found->segment != nullptr) runtime.note_segment(found->segment);
  return found;
}

Result<HostWorld> make_world(const Membership& membership, const Group& group,
                             const GroupHosts& hosts, const HostSegment& found, int places) {
  const Runtime& runtime = *membership.runtime;
  HostWorld world;
  if (found.segment != nullptr) {
    PACELINE_TRY_ASSIGN(const HostMethods methods, methods_of(runtime, found.note));
    std::vector<int> members(static_cast<std::size_t>(group.size()), ShmPlace::kElsewhere);
    for (const int rank : hosts.beside) {
      const auto at = static_cast<std::size_t>(rank);
      members[at] = runtime.hosts().place_of(membership.process_of(rank));
    }
    PACELINE_TRY_ASSIGN(
        world, make_host_world(runtime.room(), group, std::move(members), found, places, methods));
  }
  if (hosts.is_one() && found.segment != nullptr) return world;
  PACELINE_TRY_ASSIGN(auto far, make_tcp_transport(runtime.port(), group));
  world.transport =
      world.transport == nullptr
          ? std::move(far)
          : make_composite_transport(std::move(world.transport), hosts.beside, std::move(far));
  return world;
}

}  // namespace paceline
