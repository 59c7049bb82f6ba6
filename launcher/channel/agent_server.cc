#include "launcher/channel/agent_server.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/socket.h"
#include "launcher/channel/certificate.h"
#include "launcher/channel/frame.h"
#include "launcher/channel/invitation.h"
#include "launcher/channel/token.h"
#include "launcher/channel/watchful_socket.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

// gRPC's own time. It ends later than that of the acceptor, which logs.
constexpr auto kHandshakePatience =
    std::chrono::duration_cast<std::chrono::milliseconds>(2 * UnauthenticatedBook::kMaxTime);

// A call that nobody comes for is ended: the server's own end would wait for it.
struct Newcomer {
  explicit Newcomer(std::shared_ptr<RemoteCall> that) : call(std::move(that)) {}
  ~Newcomer() {
    if (call) call->finish();
  }
  std::shared_ptr<RemoteCall> call;  // owners: this, and itself while it lasts
};

}  // namespace

/// Checks tokens. Called by gRPC's threads.
class AgentServer::Gate {
 public:
  using Arrived =
      std::function<void(std::size_t, const std::string& peer, std::shared_ptr<RemoteStream::Relay>,
                         std::shared_ptr<Newcomer>)>;
  using Refused = std::function<void(std::size_t, const std::string& why)>;

  Gate(std::string version, Mailbox::Sender sender, Arrived arrived, Refused refused)
      : version_(std::move(version)),
        sender_(std::move(sender)),
        arrived_(std::move(arrived)),
        refused_(std::move(refused)) {}

  void expect(std::size_t index, const std::string& host, const std::string& token) {
    const std::lock_guard guard(mutex_);
    seats_[index] = {.host = host, .token = token};
  }
  void forget(std::size_t index) {
    const std::lock_guard guard(mutex_);
    seats_.erase(index);
  }
  std::size_t expected() {
    const std::lock_guard guard(mutex_);
    return seats_.size();
  }

  Admission admit(const Introduction& introduction, const std::string& peer) {
    const auto index = parse_number<std::size_t>(introduction.host);
    const std::optional<Seat> seat = index ? take(*index, introduction.token) : std::nullopt;
    if (!seat) return {.refusal = "the head does not expect this agent: its token is not valid"};
    if (introduction.version != version_) {
      const std::string why = versions_differ(seat->host, introduction.version, version_);
      sender_.post([refused = refused_, index = *index, why] { refused(index, why); });
      return {.refusal = why};
    }
    auto relay = RemoteStream::make_relay(sender_);
    auto begin = [this, index = *index, peer, relay](std::shared_ptr<RemoteCall> call) {
      auto newcomer = std::make_shared<Newcomer>(std::move(call));
      sender_.post([arrived = arrived_, index, peer, relay, newcomer] {
        arrived(index, peer, relay, newcomer);
      });
    };
    return {.events = RemoteStream::events_of(relay), .refusal = "", .begin = std::move(begin)};
  }

 private:
  struct Seat {
    std::string host;
    std::string token;
  };

  std::optional<Seat> take(std::size_t index, const std::string& token) {
    const std::lock_guard guard(mutex_);
    const auto found = seats_.find(index);
    if (found == seats_.end() || !same_token(found->second.token, token)) return std::nullopt;
    return seats_.extract(found).mapped();
  }

  const std::string version_;
  const Mailbox::Sender sender_;
  const Arrived arrived_;
  const Refused refused_;
  std::mutex mutex_;  // of what follows
  std::map<std::size_t, Seat> seats_;
};

Result<std::unique_ptr<AgentServer>> AgentServer::start(EventLoop& loop, Options options,
                                                        Handlers handlers) {
  PACELINE_TRY_ASSIGN(const RemoteModule* module, load_remote_module());
  PACELINE_TRY_ASSIGN(Certificate certificate, make_certificate());
  std::unique_ptr<AgentServer> server(new AgentServer(loop, std::move(handlers)));
  PACELINE_TRY_ASSIGN(server->mailbox_, Mailbox::make(loop));
  server->certificate_ = certificate.pem;
  AgentServer* const self = server.get();  // it goes after the mailbox that calls these
  server->gate_ = std::make_shared<Gate>(
      std::move(options.version), server->mailbox_->sender(),
      [self](std::size_t index, const std::string& peer, std::shared_ptr<RemoteStream::Relay> relay,
             std::shared_ptr<Newcomer> newcomer) {
        self->authenticated(peer);
        auto stream = std::make_unique<RemoteStream>(
            std::move(relay), std::exchange(newcomer->call, nullptr), "agent");
        const std::string address = plain_peer(peer);
        self->handlers_.arrived(
            index, without_port(address),
            std::make_unique<RemoteChannel<messages::ToAgent, messages::FromAgent>>(
                nullptr, std::move(stream), std::chrono::milliseconds::zero()));
      },
      [self](std::size_t index, const std::string& why) { self->handlers_.refused(index, why); });
  ServeOptions serving{
      .certificate = std::move(certificate),
      .longest_message_bytes = kMaxFrameBytes,
      .handshake_patience = kHandshakePatience,
      .admit = [gate = server->gate_](const Introduction& introduction, const std::string& peer) {
        return gate->admit(introduction, peer);
      }};
  PACELINE_TRY_ASSIGN(server->calls_, module->serve(std::move(serving)));
  PACELINE_TRY(server->listen(options));
  return server;
}

AgentServer::~AgentServer() {
  stop_listening();
  mailbox_.reset();
}

Result<std::string> AgentServer::expect(std::size_t index, const std::string& host) {
  PACELINE_TRY_ASSIGN(std::string token, make_token());
  gate_->expect(index, host, token);
  return token;
}

void AgentServer::forget(std::size_t index) { gate_->forget(index); }

// ---- Connections ---------------------------------------------------------------------------

Status AgentServer::listen(const Options& options) {
  PACELINE_TRY_ASSIGN(UniqueFd listening, listen_on_all(options.ports));
  PACELINE_TRY_ASSIGN(const SocketAddress here, SocketAddress::of_local_end(listening.get()));
  port_ = here.port();
  PACELINE_TRY_ASSIGN(acceptor_,
                      Acceptor::create(std::move(listening), *this,
                                       {.name = "agents at port " + std::to_string(port_),
                                        .log = options.log,
                                        .max_connections = kMaxUnauthenticated}));
  driver_.emplace(loop_, acceptor_->fd(), [this] {
    acceptor_->limit_to(kMaxUnauthenticated + 3 * gate_->expected());
    acceptor_->drive(loop_.clock().now());
    return acceptor_->wake_at();
  });
  return Status();
}

void AgentServer::stop_listening() {
  driver_.reset();
  acceptor_.reset();
  unauthenticated_.clear();
}

void AgentServer::accepted(Acceptor::Id id) {
  const int connection = acceptor_->connection(id);
  be_watchful(connection);
  Result<UniqueFd> copy = duplicate(connection);
  if (!copy.ok()) return acceptor_->refuse(id, copy.status().text());
  unauthenticated_.emplace(id, plain_peer(acceptor_->peer(id)));
  calls_->serve(*std::move(copy));
}

// By the peer, or by gRPC, which says no reason.
void AgentServer::on_ready(Acceptor::Id id) {
  acceptor_->left(id);
  unauthenticated_.erase(id);
}

// The connection goes on, as gRPC's.
void AgentServer::authenticated(const std::string& peer) {
  const std::string wanted = plain_peer(peer);
  const auto found = std::ranges::find_if(
      unauthenticated_, [&](const auto& connection) { return connection.second == wanted; });
  if (found == unauthenticated_.end()) return;
  (void)acceptor_->take(found->first);
  acceptor_->authenticated(found->first);
  unauthenticated_.erase(found);
}

}  // namespace paceline::launcher
