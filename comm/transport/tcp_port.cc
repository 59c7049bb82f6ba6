#include "comm/transport/tcp_port.h"

#include <algorithm>
#include <span>
#include <utility>

#include "comm/base/digest.h"
#include "comm/base/random.h"
#include "comm/base/try.h"

namespace paceline {

Result<TcpListener> TcpListener::open(const std::string& host_address, PortRange ports) {
  PACELINE_TRY_ASSIGN(const SocketAddress wanted, SocketAddress::parse(with_port(host_address, 0)));
  PACELINE_TRY_ASSIGN(UniqueFd fd, listen_on(wanted, ports));
  PACELINE_TRY_ASSIGN(const SocketAddress bound, SocketAddress::of_local_end(fd.get()));
  return TcpListener(std::move(fd), bound.to_string());
}

TcpPort::TcpPort(std::shared_ptr<PollEngine> engine, std::string address, JobKey key,
                 Options options)
    : engine_(std::move(engine)),
      address_(std::move(address)),
      key_(std::move(key)),
      options_(std::move(options)),
      world_(digest(options_.world.name)),
      common_{.engine = *engine_, .key = key_, .integrity = options_.integrity} {}

Result<std::shared_ptr<TcpPort>> TcpPort::open(std::shared_ptr<PollEngine> engine,
                                               TcpListener listener, JobKey key, Options options) {
  std::uint64_t seed = 0;
  PACELINE_TRY(fill_system_random(std::as_writable_bytes(std::span(&seed, 1))));
  // The address that it is bound to: the group's may be another on the peers' side of a relay.
  std::string name = options.name + " at " + listener.address();
  std::shared_ptr<TcpPort> port(
      new TcpPort(std::move(engine), listener.address(), std::move(key), std::move(options)));
  port->common_.random = Random(seed);
  PACELINE_TRY_ASSIGN(auto accepting,
                      Listener::create(listener.release(), &port->key_,
                                       {.name = std::move(name),
                                        .log = port->options_.log,
                                        .max_unauthenticated = kMaxUnauthenticated},
                                       [self = port.get()](AuthenticatedConnection& arrival) {
                                         return self->settle(arrival);
                                       }));
  const Engine::Baton baton = port->engine_->hold();
  PACELINE_TRY_ASSIGN(port->listener_,
                      WatchedListener::create(*port->engine_, std::move(accepting)));
  port->engine_->attach(*port);
  return port;
}

TcpPort::~TcpPort() {
  const Engine::Baton baton = engine_->hold();
  engine_->detach(*this);
  links_.clear();
  listener_.reset();
}

TcpLink& TcpPort::link(int process, const std::string& address) {
  std::unique_ptr<TcpLink>& link = links_[process];
  if (link == nullptr) {
    const Hello hello{.purpose = purpose(),
                      .epoch = options_.world.epoch,
                      .from = options_.world.rank,
                      .to = process,
                      .group = world_};
    link = std::make_unique<TcpLink>(common_, hello);
    link->set_address(options_.world.members[static_cast<std::size_t>(process)].address);
  }
  if (!address.empty()) link->set_address(address);
  return *link;
}

bool TcpPort::drive(TimePoint now) {
  bool moved = listener_->drive(now);
  for (const auto& [process, link] : links_) moved |= link->drive(now);
  return moved;
}

TimePoint TcpPort::wake_at() const {
  TimePoint wake = listener_->wake_at();
  for (const auto& [process, link] : links_) wake = std::min(wake, link->wake_at());
  return wake;
}

Status TcpPort::settle(AuthenticatedConnection& arrival) {
  const Hello& hello = arrival.hello();
  const Group& world = options_.world;
  const bool is_data = hello.purpose == Purpose::kData || hello.purpose == Purpose::kSealedData;
  if (is_data && (hello.group != world_ || hello.epoch != world.epoch)) {
    arrival.decline(Verdict::kHasLeft);
    return {};
  }
  if (!is_data || hello.to != world.rank || hello.from < 0 || hello.from >= world.size() ||
      hello.from == world.rank) {
    arrival.decline(Verdict::kNotMeant);
    return Status(Code::kDenied, Scope::kPeer,
                  "it has the job's key, but its hello names another rank");
  }
  if (hello.purpose != purpose()) {
    arrival.decline(Verdict::kOtherIntegrity);
    return {};
  }
  TcpLink& from = link(hello.from);
  from.end_former();
  Result<UniqueFd> fd = arrival.welcome();
  if (!fd.ok()) return {};
  from.accept(*std::move(fd), arrival.secret());
  return {};
}

}  // namespace paceline
