#include "launcher/channel/agent_server.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include <openssl/crypto.h>
#include <sys/socket.h>

#include "comm/base/random.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/socket.h"
#include "launcher/channel/certificate.h"
#include "launcher/channel/frame.h"
#include "launcher/channel/invitation.h"
#include "launcher/channel/watchful_socket.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr Duration kAcceptAgain = std::chrono::seconds(1);

// A call that nobody comes for is ended: the server's own end would wait for it.
struct Newcomer {
  explicit Newcomer(std::shared_ptr<RemoteCall> that) : call(std::move(that)) {}
  ~Newcomer() {
    if (call) call->finish();
  }
  std::shared_ptr<RemoteCall> call;  // owners: this, and itself while it lasts
};

Result<std::string> make_token() {
  std::array<std::byte, kTokenBytes> bytes;
  PACELINE_TRY(fill_system_random(bytes));
  return to_hexadecimal(bytes);
}

bool same(const std::string& a, const std::string& b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// "127.0.0.1:4000" of both what a socket says and what gRPC makes of it: ipv4:127.0.0.1:4000,
// ipv6:%5B::1%5D:4000.
std::string plain(std::string peer) {
  for (const std::string_view noise : {"ipv4:", "ipv6:", "%5B", "%5D", "[", "]", "::ffff:"}) {
    if (const std::size_t at = peer.find(noise); at != std::string::npos)
      peer.erase(at, noise.size());
  }
  return peer;
}

}  // namespace

/// Who may come in. gRPC's threads ask.
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
    if (found == seats_.end() || !same(found->second.token, token)) return std::nullopt;
    return seats_.extract(found).mapped();
  }

  const std::string version_;
  const Mailbox::Sender sender_;
  const Arrived arrived_;
  const Refused refused_;
  std::mutex mutex_;  // of what follows
  std::map<std::size_t, Seat> seats_;
};

Result<std::unique_ptr<AgentServer>> AgentServer::start(EventLoop& loop, std::string version,
                                                        Handlers handlers, PortRange ports) {
  PACELINE_TRY_ASSIGN(const RemoteModule* module, load_remote_module());
  PACELINE_TRY_ASSIGN(Certificate certificate, make_certificate());
  std::unique_ptr<AgentServer> server(new AgentServer(loop, std::move(handlers)));
  PACELINE_TRY_ASSIGN(server->mailbox_, Mailbox::make(loop));
  server->certificate_ = certificate.pem;
  AgentServer* const self = server.get();  // it goes after the mailbox that calls these
  server->gate_ = std::make_shared<Gate>(
      std::move(version), server->mailbox_->sender(),
      [self](std::size_t index, const std::string& peer, std::shared_ptr<RemoteStream::Relay> relay,
             std::shared_ptr<Newcomer> newcomer) {
        self->settle(peer);
        auto stream = std::make_unique<RemoteStream>(
            std::move(relay), std::exchange(newcomer->call, nullptr), "agent");
        const std::string address = plain(peer);
        self->handlers_.arrived(
            index, address.substr(0, address.rfind(':')),
            std::make_unique<RemoteChannel<messages::ToAgent, messages::FromAgent>>(
                nullptr, std::move(stream), std::chrono::milliseconds::zero()));
      },
      [self](std::size_t index, const std::string& why) { self->handlers_.refused(index, why); });
  ServeOptions options{
      .certificate = std::move(certificate),
      .longest_message_bytes = kMaxFrameBytes,
      .handshake_patience = kProofPatience,
      .admit = [gate = server->gate_](const Introduction& introduction, const std::string& peer) {
        return gate->admit(introduction, peer);
      }};
  PACELINE_TRY_ASSIGN(server->calls_, module->serve(std::move(options)));
  PACELINE_TRY(server->listen(ports));
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

Status AgentServer::listen(PortRange ports) {
  PACELINE_TRY_ASSIGN(listener_, listen_on_all(ports));
  PACELINE_TRY_ASSIGN(const SocketAddress here, SocketAddress::of_local_end(listener_.get()));
  port_ = here.port();
  loop_.when_readable(listener_.get(), [this] { accept(); });
  return Status();
}

void AgentServer::stop_listening() {
  if (listener_) loop_.forget_readable(listener_.get());
  if (accept_again_) loop_.cancel(*std::exchange(accept_again_, std::nullopt));
  listener_.reset();
  while (!unproven_.empty()) hang_up(unproven_.begin());
}

void AgentServer::accept() {
  Result<UniqueFd> accepted = accept_from(listener_.get());
  if (!accepted.ok()) {  // for want of descriptors: some may come back
    loop_.forget_readable(listener_.get());
    accept_again_ = loop_.after(
        kAcceptAgain, [this] { loop_.when_readable(listener_.get(), [this] { accept(); }); });
    return;
  }
  if (!*accepted) return;
  be_watchful(accepted->get());
  Result<UniqueFd> copy = duplicate(accepted->get());
  const Result<SocketAddress> peer = SocketAddress::of_remote_end(accepted->get());
  if (!copy.ok() || !peer.ok()) return;
  if (unproven_.size() >= kMaxStrangers + 3 * gate_->expected()) hang_up(unproven_.begin());
  unproven_.push_back({.connection = *std::move(copy), .peer = plain(peer->to_string())});
  const auto stranger = std::prev(unproven_.end());
  stranger->timer = loop_.after(kProofPatience, [this, stranger] { hang_up(stranger); });
  calls_->serve(*std::move(accepted));
}

void AgentServer::settle(const std::string& peer) {
  const auto found =
      std::find_if(unproven_.begin(), unproven_.end(),
                   [&](const Unproven& connection) { return connection.peer == plain(peer); });
  if (found == unproven_.end()) return;
  loop_.cancel(found->timer);
  unproven_.erase(found);
}

void AgentServer::hang_up(std::list<Unproven>::iterator stranger) {
  ::shutdown(stranger->connection.get(), SHUT_RDWR);
  loop_.cancel(stranger->timer);
  unproven_.erase(stranger);
}

}  // namespace paceline::launcher
