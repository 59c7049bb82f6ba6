#include "comm/listener.h"

#include <array>
#include <cerrno>
#include <string_view>

#include <sys/socket.h>
#include <unistd.h>

#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/socket.h"

namespace paceline {
namespace {

enum class Reading { kWhole, kPending, kEnded };

// Reads up to kHelloBytes in all. Later bytes belong to the user of the connection.
Reading read_hello(int fd, Bytes& incoming) {
  std::array<std::byte, kHelloBytes> bytes;
  while (incoming.size() < kHelloBytes) {
    const ssize_t got = ::recv(fd, bytes.data(), kHelloBytes - incoming.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return Reading::kPending;
    if (got <= 0) return Reading::kEnded;
    incoming.insert(incoming.end(), bytes.begin(), bytes.begin() + got);
  }
  return Reading::kWhole;
}

// The buffer of a fresh socket has room for it. A peer that has arranged otherwise gets nothing.
bool send_whole(int fd, ByteView bytes) {
  return std::cmp_equal(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
}

}  // namespace

bool AuthenticatedConnection::send(Verdict verdict) {
  return !handshake_ || send_whole(fd_.get(), handshake_->welcome(verdict));
}

Result<UniqueFd> AuthenticatedConnection::welcome() {
  if (send(Verdict::kAccepted)) return std::move(fd_);
  return Status(Code::kPeerLost, Scope::kPeer, "the connection was closed during the handshake");
}

void AuthenticatedConnection::decline(Verdict why) { (void)send(why); }

Result<std::unique_ptr<Listener>> Listener::create(UniqueFd listening, const JobKey* key,
                                                   Options options, Settle settle) {
  Acceptor::Options accepting{.name = std::move(options.name),
                              .log = std::move(options.log),
                              .max_connections = options.max_unauthenticated,
                              .reports_data = true};
  if (key != nullptr) {
    const auto notice = refusal_without_descriptors();
    accepting.shortage_notice.assign(notice.begin(), notice.end());
  }
  std::unique_ptr<Listener> listener(new Listener(key, std::move(settle)));
  PACELINE_TRY_ASSIGN(listener->acceptor_,
                      Acceptor::create(std::move(listening), *listener, std::move(accepting)));
  return listener;
}

void Listener::accepted(Id id) {
  if (key_ == nullptr) return admit_user(id);
  if (const Status status = challenge(id); !status.ok()) acceptor_->refuse(id, status.text());
}

Status Listener::challenge(Id id) {
  AcceptorHandshake::Nonce nonce;
  PACELINE_TRY(fill_system_random(nonce));
  const auto begun =
      handshakes_.emplace(id, Handshake{.acceptor = AcceptorHandshake(*key_, nonce)}).first;
  (void)send_whole(acceptor_->connection(id), begun->second.acceptor.challenge());
  return {};
}

void Listener::admit_user(Id id) {
  const Result<unsigned> user = peer_user(acceptor_->connection(id));
  if (user.ok() && (*user == ::geteuid() || *user == 0))
    return settle(id, AuthenticatedConnection(acceptor_->take(id)));
  acceptor_->refuse(id, "only user " + std::to_string(::geteuid()) + " and root may connect");
}

void Listener::on_ready(Id id) {
  Bytes& incoming = handshakes_.at(id).incoming;
  const Reading reading = read_hello(acceptor_->connection(id), incoming);
  if (reading == Reading::kPending) return;
  if (reading == Reading::kWhole) return authenticate(id);
  if (incoming.empty())
    acceptor_->left(id);
  else
    acceptor_->refuse(id, RefusalLog::kHungUp);
  handshakes_.erase(id);
}

void Listener::authenticate(Id id) {
  Handshake handshake = std::move(handshakes_.extract(id).mapped());
  const Result<Hello> hello = handshake.acceptor.read_hello(handshake.incoming);
  if (!hello.ok()) return acceptor_->refuse(id, hello.status().text());
  settle(id, AuthenticatedConnection(acceptor_->take(id), std::move(handshake.acceptor), *hello));
}

void Listener::settle(Id id, AuthenticatedConnection connection) {
  if (const Status status = settle_(connection); !status.ok())
    acceptor_->refuse(id, status.text());
  else
    acceptor_->authenticated(id);
}

}  // namespace paceline
