#include "launcher/control/control_listener.h"

#include <algorithm>
#include <utility>

#include <poll.h>

#include "comm/base/try.h"
#include "launcher/channel/token.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

bool has_ended(const UniqueFd& connection) {
  pollfd state{.fd = connection.get(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) > 0;
}

}  // namespace

Result<std::unique_ptr<ControlListener>> ControlListener::listen(EventLoop& loop,
                                                                 const SocketAddress& address,
                                                                 Options options) {
  PACELINE_TRY_ASSIGN(UniqueFd listening, listen_on(address));
  std::unique_ptr<ControlListener> listener(new ControlListener(std::move(options)));
  PACELINE_TRY_ASSIGN(listener->address_, SocketAddress::of_local_end(listening.get()));
  const bool is_unix = address.is_unix();
  PACELINE_TRY_ASSIGN(
      listener->acceptor_,
      Acceptor::create(
          std::move(listening), *listener,
          {.name = is_unix ? "control socket" : "control port " + listener->address_.to_string(),
           .log = listener->options_.log,
           .max_connections = kMaxUnauthenticated}));
  ControlListener* const self = listener.get();
  listener->driver_.emplace(loop, listener->acceptor_->fd(), [self, &loop] {
    self->acceptor_->drive(loop.clock().now());
    return self->acceptor_->wake_at();
  });
  return listener;
}

ControlListener::~ControlListener() = default;

void ControlListener::accepted(Acceptor::Id id) {
  if (const Status status = admit(id); !status.ok()) acceptor_->refuse(id, status.text());
}

Status ControlListener::admit(Acceptor::Id id) {
  const int connection = acceptor_->connection(id);
  const bool is_unix = options_.kind == ControlServer::Kind::kUnix;
  if (is_unix) {
    PACELINE_TRY_ASSIGN(const unsigned user, peer_user(connection));
    if (user != options_.user && user != 0)
      return Status(Code::kDenied, Scope::kPeer,
                    "only user " + std::to_string(options_.user) + " and root may control the job");
  }
  forget_ended();
  if (clients_.size() >= kMaxClients)
    return Status(Code::kExhausted, Scope::kPeer,
                  "the job has " + std::to_string(kMaxClients) + " clients already");
  PACELINE_TRY_ASSIGN(UniqueFd copy, duplicate(connection));
  PACELINE_TRY(options_.accepted(std::move(copy)));
  if (is_unix) {
    keep(id);
  } else {
    unauthenticated_.emplace(id, plain_peer(acceptor_->peer(id)));
  }
  return Status();
}

// By the peer, or by gRPC, which gives no reason.
void ControlListener::on_ready(Acceptor::Id id) {
  acceptor_->left(id);
  unauthenticated_.erase(id);
}

void ControlListener::authenticated(const std::string& peer) {
  const std::string wanted = plain_peer(peer);
  const auto found = std::ranges::find_if(
      unauthenticated_, [&](const auto& connection) { return connection.second == wanted; });
  if (found == unauthenticated_.end()) return;
  keep(found->first);
  unauthenticated_.erase(found);
}

void ControlListener::keep(Acceptor::Id id) {
  clients_.push_back(acceptor_->take(id));
  acceptor_->authenticated(id);
}

// gRPC shuts a connection down before it closes it, so duplicates show the end.
void ControlListener::forget_ended() { std::erase_if(clients_, has_ended); }

}  // namespace paceline::launcher
