#include "comm/transport/tcp_port.h"

#include "comm/base/argument_error.h"
#include "comm/base/digest.h"
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
      options_(std::move(options)) {}

Result<std::shared_ptr<TcpPort>> TcpPort::open(std::shared_ptr<PollEngine> engine,
                                               TcpListener listener, JobKey key, Options options) {
  // The address that it is bound to: the group's may be another on the peers' side of a relay.
  std::string name = options.name + " at " + listener.address();
  std::shared_ptr<TcpPort> port(
      new TcpPort(std::move(engine), listener.address(), std::move(key), std::move(options)));
  const Engine::Baton baton = port->engine_->hold();
  port->door_ = std::make_unique<TcpDoor>(
      *port->engine_, listener.release(), port->key_,
      TcpDoor::Options{.log = port->options_.log, .name = std::move(name)});
  port->engine_->attach(*port);
  PACELINE_TRY(port->door_->watched());
  return port;
}

TcpPort::~TcpPort() {
  const Engine::Baton baton = engine_->hold();
  engine_->detach(*this);
  door_.reset();
}

TcpPort::GroupId TcpPort::id_of(const Group& group) { return {digest(group.name), group.epoch}; }

Status TcpPort::add(const Group& group, Owner& owner) {
  if (owners_.emplace(id_of(group), &owner).second) return {};
  return argument_error("there is a group " + group.name + " already");
}

void TcpPort::remove(const Group& group) { owners_.erase(id_of(group)); }

bool TcpPort::drive(TimePoint now) {
  return door_->drive(now, [this](TcpArrival& arrival) { return settle(arrival); });
}

Status TcpPort::settle(TcpArrival& arrival) {
  const Hello& hello = arrival.hello();
  const auto owner = owners_.find({hello.group, hello.epoch});
  if (owner != owners_.end()) return owner->second->arrived(arrival);
  const bool is_data = hello.purpose == Purpose::kData || hello.purpose == Purpose::kSealedData;
  if (!is_data) return Status(Code::kDenied, Scope::kPeer, "it is not a rank of this job");
  arrival.decline(Verdict::kHasLeft);
  return {};
}

}  // namespace paceline
