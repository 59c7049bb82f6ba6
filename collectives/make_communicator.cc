#include "collectives/make_communicator.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "collectives/algo/selector.h"
#include "collectives/backend/ablated.h"
#include "collectives/backend/native/native.h"
#include "collectives/backend/shm/tuning.h"
#include "collectives/communicator_core.h"
#include "collectives/tuning_file.h"
#include "comm/base/digest.h"
#include "comm/base/try.h"
#include "comm/transport/composite.h"
#include "comm/transport/shm.h"
#include "comm/transport/tcp.h"

namespace paceline {
namespace {

// Groups take up to a quarter of what is left of this, so the first ones have enough to be fast.
// When it is used up, each takes the least that it can do with.
constexpr std::size_t kSharedBytes = std::size_t{128} << 20;

// Users who ask for explanations get them at any log level. Null: nobody asked.
std::shared_ptr<Log> explaining_log(const Environment& environment) {
  return environment.explain ? make_stderr_log({.level = LogLevel::kInfo}) : nullptr;
}

std::unique_ptr<CollectiveBackend> make_native(const CommunicatorRequest& request) {
  const Environment& environment = request.membership.runtime->environment();
  NativeBackend::Options options{
      .rank = request.group.rank,
      .ranks = request.group.size(),
      .algorithm = environment.algorithm,
      .in_rank_order = request.terms.determinism == Determinism::kPlacementStable};
  if (!request.hosts.is_one()) options.hosts = request.hosts.host;
  // The other modes take the same algorithms in each run.
  if (request.terms.determinism == Determinism::kFast && request.membership.between_hosts)
    options.between_hosts = *request.membership.between_hosts;
  if (environment.segment_bytes > 0) options.segment_bytes = environment.segment_bytes;
  if (request.group.rank == 0) options.explains = explaining_log(environment);
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

Result<HostMethods> methods_of(const Runtime& runtime, const std::string& note) {
  const Environment& environment = runtime.environment();
  const auto explaining = explaining_log(environment);
  HostMethods methods{.forced = environment.shm_method,
                      .log = explaining != nullptr ? explaining : runtime.log(),
                      .explains = environment.explain};
  if (!note.empty()) {
    PACELINE_TRY_ASSIGN(methods.tuning, shm::parse_tuning(note));
  }
  return methods;
}

std::unique_ptr<CommunicatorCore> make_core(CommunicatorRequest request,
                                            std::unique_ptr<FlightRing> flight) {
  const std::shared_ptr<Runtime>& runtime = request.membership.runtime;
  std::vector<std::unique_ptr<CollectiveBackend>> backends;
  // Whoever asks for an algorithm asks for a plan.
  if (request.world.backend != nullptr && runtime->environment().algorithm.empty())
    backends.push_back(std::move(request.world.backend));
  backends.push_back(make_native(request));
  return std::make_unique<CommunicatorCore>(
      CommunicatorCore::Parts{.engine = runtime->engine(),
                              .transport = std::move(request.world.transport),
                              .backends = std::move(backends),
                              .uses_device_library = runtime->environment().nccl,
                              .flight = std::move(flight),
                              .ledger = &StepLedger::of_process(),
                              .whereabouts = std::move(request.whereabouts),
                              .log = runtime->log(),
                              .group = std::move(request.group),
                              .timeout = request.terms.timeout,
                              .report_every = runtime->environment().stall_s,
                              .determinism = request.terms.determinism,
                              .membership = std::move(request.membership)});
}

// Of the group of `control`, which has all messages. Ranks get out of step, since no operation
// waits: they meet again when they split or close.
std::unique_ptr<CommunicatorCore> make_ablated_core(std::unique_ptr<CommunicatorCore> control,
                                                    std::unique_ptr<FlightRing> flight) {
  const CommunicatorParts& real = control->parts();
  CommunicatorParts parts{.engine = real.engine,
                          .transport = nullptr,
                          .backends = {},
                          .uses_device_library = false,
                          .flight = std::move(flight),
                          .ledger = real.ledger,
                          .whereabouts = nullptr,
                          .log = real.log,
                          .group = real.group,
                          .timeout = real.timeout,
                          .report_every = real.report_every,
                          .determinism = real.determinism,
                          .membership = real.membership};
  parts.backends.push_back(std::make_unique<AblatedBackend>(real.group.rank, real.group.size()));
  return std::make_unique<CommunicatorCore>(std::move(parts), std::move(control));
}

}  // namespace

Result<CommunicatorTerms> terms_of(const InitOptions& options, const CommunicatorTerms& otherwise,
                                   const Environment& environment) {
  if (options.timeout_ms.count() < 0 || options.timeout_ms > kLongestTimeout)
    return setting_error("timeout_ms " + std::to_string(options.timeout_ms.count()) +
                         " is not allowed; use 0 to 31536000000 (1 year)");
  const auto is_printable = [](char letter) { return letter >= ' ' && letter <= '~'; };
  if (options.name.size() > FlightRing::kMostName ||
      !std::ranges::all_of(options.name, is_printable))
    return setting_error("a communicator's name must have at most " +
                         std::to_string(FlightRing::kMostName) + " bytes of printable ASCII");
  CommunicatorTerms terms = otherwise;
  if (!options.name.empty()) terms.name = options.name;
  if (options.timeout_ms.count() > 0) terms.timeout = options.timeout_ms;
  if (options.determinism) terms.determinism = *options.determinism;
  PACELINE_TRY(check_forced({.forced = environment.algorithm,
                             .in_rank_order = terms.determinism == Determinism::kPlacementStable})
                   .with_context("PACELINE_ALGORITHM=" + environment.algorithm));
  return terms;
}

Communicator make_communicator(CommunicatorRequest request) {
  const std::shared_ptr<Runtime>& runtime = request.membership.runtime;
  // The launcher finds the world's operations without a name.
  auto flight = runtime->flight_ring(request.membership.is_world() ? "" : request.membership.name);
  flight->note_join(request.began, runtime->clock().now());
  flight->note_group(digest(request.group.name), request.group.size());
  if (request.group.size() == 1 || !runtime->environment().ablation.communication)
    return Communicator(make_core(std::move(request), std::move(flight)));
  auto control = make_core(std::move(request), FlightRing::create_private());
  return Communicator(make_ablated_core(std::move(control), std::move(flight)));
}

Group subgroup(const Group& whole, const std::vector<int>& ranks) {
  const auto own = std::ranges::find(ranks, whole.rank) - ranks.begin();
  Group part{.name = whole.name, .epoch = whole.epoch, .rank = static_cast<int>(own)};
  for (const int rank : ranks)
    part.members.push_back(whole.members[static_cast<std::size_t>(rank)]);
  return part;
}

Result<HostSegment> find_group_segment(const CommunicatorRequest& request, Exchange& exchange,
                                       Deadline deadline) {
  Runtime& runtime = *request.membership.runtime;
  const std::vector<int>& beside = request.hosts.beside(request.group.rank);
  const Group here = subgroup(request.group, beside);
  const int places = runtime.room() == nullptr ? here.size() : 0;
  HostSegmentRequest wanted{
      .prefix = runtime.shared_prefix(), .note = tuning_note(runtime, here), .names = beside};
  const std::size_t left = kSharedBytes - std::min(runtime.shared_bytes(), kSharedBytes);
  for (const HostLayout& layout : host_layouts(here.size(), places, request.hosts.is_one())) {
    const bool was_too_large = !wanted.bytes.empty() && wanted.bytes.back() > left / 4;
    if (was_too_large) wanted.bytes.clear();
    wanted.bytes.push_back(layout.bytes(here.size()));
  }
  auto found = find_host_segment(exchange, here, wanted, deadline);
  if (found.ok() && found->segment != nullptr) runtime.note_segment(found->segment);
  return found;
}

Status make_world(CommunicatorRequest& request, const HostSegment& found) {
  const Runtime& runtime = *request.membership.runtime;
  const Group& group = request.group;
  const std::vector<int>& beside = request.hosts.beside(group.rank);
  std::unique_ptr<Transport>& transport = request.world.transport;
  if (found.segment != nullptr) {
    PACELINE_TRY_ASSIGN(const HostMethods methods, methods_of(runtime, found.note));
    std::vector<int> members(static_cast<std::size_t>(group.size()), ShmPlace::kElsewhere);
    for (const int rank : beside)
      members[static_cast<std::size_t>(rank)] =
          runtime.hosts().place_of(request.membership.process_of(rank));
    PACELINE_TRY_ASSIGN(request.world,
                        make_host_world(runtime.room(), group, std::move(members), found, methods));
    if (request.hosts.is_one()) return {};
  }
  TcpPlace place;
  for (int rank = 0; rank < group.size(); ++rank)
    place.processes.push_back(request.membership.process_of(rank));
  if (transport != nullptr)
    for (const int rank : beside)
      place.processes[static_cast<std::size_t>(rank)] = TcpPlace::kElsewhere;
  PACELINE_TRY_ASSIGN(auto far, make_tcp_transport(runtime.port(), group, place));
  transport = transport == nullptr
                  ? std::move(far)
                  : make_composite_transport(std::move(transport), beside, std::move(far));
  return {};
}

void say_over_tcp(const Runtime& runtime, const std::string& ranks, const std::string& why) {
  if (runtime.log() != nullptr)
    runtime.log()->write(Severity::kWarning,
                         ranks + " use TCP, because they cannot share memory: " + why);
}

}  // namespace paceline
