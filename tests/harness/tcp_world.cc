#include "tests/harness/tcp_world.h"

#include <utility>

#include <unistd.h>

#include "collectives/backend/native/native.h"
#include "collectives/communicator_core.h"

namespace paceline::testing {

TcpWorld::TcpWorld(int ranks, const TcpPort::Options& options)
    : group_{.name = "test"}, key_(JobKey::generate().value()), options_(options) {
  for (int rank = 0; rank < ranks; ++rank) {
    listeners_.emplace_back(TcpListener::open("127.0.0.1").value());
    group_.members.push_back(
        {.host = "local", .address = listeners_.back()->address(), .pid = ::getpid()});
  }
}

std::unique_ptr<Transport> TcpWorld::enter(int rank, std::shared_ptr<PollEngine> engine) {
  Group group = group_;
  group.rank = rank;
  // Each rank has a key of its own in memory, as processes have.
  JobKey own = JobKey::from_descriptor(key_.to_memfd().value().get()).value();
  std::optional<TcpListener>& listener = listeners_[static_cast<std::size_t>(rank)];
  TcpPort::Options options = options_;
  options.world = group;
  auto port =
      TcpPort::open(std::move(engine), *std::move(listener), std::move(own), std::move(options))
          .value();
  auto transport = make_tcp_transport(std::move(port), group, {}).value();
  listener.reset();
  return transport;
}

void TcpWorld::close_other_doors() {
  for (std::optional<TcpListener>& listener : listeners_) listener.reset();
}

Communicator communicator_over(std::shared_ptr<Engine> engine, std::unique_ptr<Transport> transport,
                               const CommunicatorOptions& options,
                               std::unique_ptr<CollectiveBackend> direct) {
  const Group group = transport->group();
  std::vector<std::unique_ptr<CollectiveBackend>> backends;
  if (direct != nullptr) backends.push_back(std::move(direct));
  backends.push_back(std::make_unique<NativeBackend>(
      transport.get(), NativeBackend::Options{
                           .rank = group.rank,
                           .ranks = group.size(),
                           .algorithm = options.algorithm,
                           .segment_bytes = options.segment_bytes,
                           .hosts = options.hosts,
                           .in_rank_order = options.determinism == Determinism::kPlacementStable}));
  return Communicator(std::make_unique<CommunicatorCore>(
      CommunicatorCore::Parts{.engine = std::move(engine),
                              .transport = std::move(transport),
                              .backends = std::move(backends),
                              .devices = options.devices,
                              .device_slot_bytes = options.device_slot_bytes,
                              .flight = FlightRing::create_private(),
                              .group = group,
                              .timeout = options.timeout,
                              .determinism = options.determinism}));
}

}  // namespace paceline::testing
