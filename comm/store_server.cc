#include "comm/store_server.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "comm/handshake.h"
#include "comm/store_wire.h"

namespace paceline {
namespace {

constexpr std::size_t kMaxConnections = 4096;
constexpr std::size_t kMaxStrangers = 64;  // connections that have not proven the key yet
constexpr std::size_t kMaxEntries = 1 << 20;
constexpr std::size_t kMaxStoredBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxPendingGets = 1 << 16;          // of one client
constexpr std::size_t kMaxUnread = std::size_t{8} << 20;  // answers that a client does not read
constexpr Duration kHandshakeTime = std::chrono::seconds(10);

struct Client {
  UniqueFd fd;
  std::optional<AcceptorHandshake> handshake;  // until the key is proven
  TimePoint handshake_ends = TimePoint::max();
  Bytes incoming;
  Bytes outgoing;
  std::size_t pending_gets = 0;
  bool closing = false;
};

struct Waiter {
  std::shared_ptr<Client> client;  // owners: the loop's list and the requests that wait
  std::uint32_t id;
};

}  // namespace

class StoreServer::Loop {
 public:
  Loop(UniqueFd listener, SocketAddress address, std::unique_ptr<JobKey> key, UniqueFd stop)
      : listener_(std::move(listener)),
        address_(address),
        key_(std::move(key)),
        stop_(std::move(stop)),
        thread_([this] { run(); }) {}
  ~Loop() {
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
    thread_.join();
  }

  const SocketAddress& address() const { return address_; }

 private:
  void run();
  void accept_all();
  void admit(UniqueFd fd);
  void read_from(const std::shared_ptr<Client>& client);
  void digest_input(const std::shared_ptr<Client>& client);
  bool finish_handshake(Client& client);
  void serve(const std::shared_ptr<Client>& client, StoreFrame request);
  void set(Client& client, StoreFrame request);
  void get(const std::shared_ptr<Client>& client, StoreFrame request);
  static void answer(Client& client, StoreFrame frame);
  static void write_to(Client& client);
  void forget_closing();
  bool room_for_strangers() const;
  std::size_t strangers() const;

  const UniqueFd listener_;
  const SocketAddress address_;
  const std::unique_ptr<JobKey> key_;
  const UniqueFd stop_;
  const SystemClock clock_;
  std::vector<std::shared_ptr<Client>> clients_;
  std::unordered_map<std::string, std::string> entries_;
  std::unordered_map<std::string, std::vector<Waiter>> waiters_;
  std::size_t stored_bytes_ = 0;
  std::thread thread_;  // last: it uses all the others
};

void StoreServer::Loop::run() {
  std::vector<pollfd> polled;
  while (true) {
    const short arrivals = room_for_strangers() ? POLLIN : 0;
    polled.assign(
        {{.fd = stop_.get(), .events = POLLIN}, {.fd = listener_.get(), .events = arrivals}});
    for (const auto& client : clients_) {
      const auto events = static_cast<short>(client->outgoing.empty() ? POLLIN : POLLIN | POLLOUT);
      polled.push_back({.fd = client->fd.get(), .events = events});
    }
    // Strangers' time is bounded, so sleep no longer than that while there are any.
    const int timeout_ms = strangers() > 0 ? 1000 : -1;
    if (::poll(polled.data(), polled.size(), timeout_ms) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    const TimePoint now = clock_.now();
    for (std::size_t i = 0; i + 2 < polled.size(); ++i) {
      const auto client = clients_[i];
      if (polled[i + 2].revents & POLLOUT) write_to(*client);
      if (polled[i + 2].revents & ~POLLOUT) read_from(client);
      if (now >= client->handshake_ends) client->closing = true;
    }
    forget_closing();
    if (polled[1].revents != 0) accept_all();
  }
}

// Their requests go too: a waiter would keep the descriptor open.
void StoreServer::Loop::forget_closing() {
  const auto waits = [](const auto& client) { return client->closing && client->pending_gets > 0; };
  const bool some_wait = std::any_of(clients_.begin(), clients_.end(), waits);
  for (auto key = waiters_.begin(); some_wait && key != waiters_.end();) {
    std::erase_if(key->second, [](const Waiter& waiter) { return waiter.client->closing; });
    key = key->second.empty() ? waiters_.erase(key) : std::next(key);
  }
  std::erase_if(clients_, [](const auto& client) { return client->closing; });
}

std::size_t StoreServer::Loop::strangers() const {
  return static_cast<std::size_t>(
      std::count_if(clients_.begin(), clients_.end(),
                    [](const auto& client) { return client->handshake.has_value(); }));
}

bool StoreServer::Loop::room_for_strangers() const { return strangers() < kMaxStrangers; }

// Strangers beyond the bound wait in the kernel's queue: a job's ranks come all at once.
void StoreServer::Loop::accept_all() {
  while (room_for_strangers()) {
    Result<UniqueFd> fd = accept_from(listener_.get());
    if (!fd.ok() || !*fd) return;
    if (clients_.size() < kMaxConnections) admit(*std::move(fd));
  }
}

void StoreServer::Loop::admit(UniqueFd fd) {
  auto client = std::make_shared<Client>();
  if (key_ == nullptr) {
    const Result<unsigned> user = peer_user(fd.get());
    if (!user.ok() || (*user != ::geteuid() && *user != 0)) return;
  } else {
    AcceptorHandshake::Nonce nonce;
    if (!fill_system_random(nonce).ok()) return;
    client->handshake.emplace(*key_, nonce);
    client->handshake_ends = clock_.now() + kHandshakeTime;
    const ByteView challenge = client->handshake->challenge();
    client->outgoing.assign(challenge.begin(), challenge.end());
  }
  client->fd = std::move(fd);
  write_to(*client);
  clients_.push_back(std::move(client));
}

void StoreServer::Loop::read_from(const std::shared_ptr<Client>& client) {
  std::byte buffer[16 * 1024];
  while (!client->closing) {
    // A stranger gets room for its hello and no more.
    const std::size_t room =
        client->handshake ? kHelloBytes - client->incoming.size() : sizeof buffer;
    const ssize_t got = ::read(client->fd.get(), buffer, room);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      client->closing = true;
      return;
    }
    client->incoming.insert(client->incoming.end(), buffer, buffer + got);
    digest_input(client);
  }
}

void StoreServer::Loop::digest_input(const std::shared_ptr<Client>& client) {
  if (client->handshake && !finish_handshake(*client)) return;
  ByteView bytes = client->incoming;
  while (!client->closing) {
    Result<std::optional<StoreFrame>> frame = take_frame(bytes);
    if (!frame.ok()) client->closing = true;
    if (!frame.ok() || !frame->has_value()) break;
    serve(client, **std::move(frame));
  }
  client->incoming.erase(client->incoming.begin(), client->incoming.end() - std::ssize(bytes));
  write_to(*client);
}

// True once the key is proven.
bool StoreServer::Loop::finish_handshake(Client& client) {
  if (client.incoming.size() < kHelloBytes) return false;
  const Result<Hello> hello = client.handshake->read_hello(client.incoming);
  if (!hello.ok() || hello->purpose != Purpose::kStore) {
    client.closing = true;
    return false;
  }
  const auto welcome = client.handshake->welcome(Verdict::kAccepted);
  client.outgoing.insert(client.outgoing.end(), welcome.begin(), welcome.end());
  client.incoming.clear();
  client.handshake.reset();
  client.handshake_ends = TimePoint::max();
  return true;
}

void StoreServer::Loop::serve(const std::shared_ptr<Client>& client, StoreFrame request) {
  switch (request.kind) {
    case StoreFrameKind::kSet:
      set(*client, std::move(request));
      break;
    case StoreFrameKind::kGet:
      get(client, std::move(request));
      break;
    default:
      client->closing = true;
  }
}

void StoreServer::Loop::set(Client& client, StoreFrame request) {
  const auto [entry, is_new] = entries_.try_emplace(request.key);
  std::string& value = entry->second;
  const std::size_t stored = stored_bytes_ - value.size() + request.value.size();
  if (entries_.size() > kMaxEntries || stored > kMaxStoredBytes) {
    if (is_new) entries_.erase(entry);
    return answer(
        client, {.kind = StoreFrameKind::kRefused, .id = request.id, .value = "the store is full"});
  }
  stored_bytes_ = stored;
  value = std::move(request.value);
  answer(client, {.kind = StoreFrameKind::kDone, .id = request.id});
  const auto waiting = waiters_.find(request.key);
  if (waiting == waiters_.end()) return;
  for (const Waiter& waiter : waiting->second) {
    --waiter.client->pending_gets;
    answer(*waiter.client, {.kind = StoreFrameKind::kValue, .id = waiter.id, .value = value});
    write_to(*waiter.client);
  }
  waiters_.erase(waiting);
}

void StoreServer::Loop::get(const std::shared_ptr<Client>& client, StoreFrame request) {
  const auto entry = entries_.find(request.key);
  if (entry != entries_.end()) {
    return answer(*client,
                  {.kind = StoreFrameKind::kValue, .id = request.id, .value = entry->second});
  }
  if (client->pending_gets >= kMaxPendingGets) {
    return answer(*client, {.kind = StoreFrameKind::kRefused,
                            .id = request.id,
                            .value = "too many requests of this client wait"});
  }
  ++client->pending_gets;
  waiters_[request.key].push_back({client, request.id});
}

void StoreServer::Loop::answer(Client& client, StoreFrame frame) {
  if (!client.closing) append_frame(frame, client.outgoing);
  if (client.outgoing.size() > kMaxUnread) client.closing = true;
}

void StoreServer::Loop::write_to(Client& client) {
  while (!client.outgoing.empty()) {
    const ssize_t sent =
        ::send(client.fd.get(), client.outgoing.data(), client.outgoing.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) client.closing = true;
    if (sent < 0) return;
    client.outgoing.erase(client.outgoing.begin(), client.outgoing.begin() + sent);
  }
}

StoreServer::StoreServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
StoreServer::~StoreServer() = default;

const SocketAddress& StoreServer::address() const { return loop_->address(); }

Result<std::unique_ptr<StoreServer>> StoreServer::serve_unix(std::string_view name) {
  PACELINE_TRY_ASSIGN(const SocketAddress address,
                      SocketAddress::parse("unix:" + std::string(name)));
  return serve(address, nullptr);
}

Result<std::unique_ptr<StoreServer>> StoreServer::serve_tcp(const SocketAddress& address,
                                                            std::unique_ptr<JobKey> key) {
  if (key == nullptr) {
    return Status(Code::kDenied, Scope::kProcess,
                  "store: over TCP it is served only with a job key: set PACELINE_JOB_KEY_FILE");
  }
  return serve(address, std::move(key));
}

Result<std::unique_ptr<StoreServer>> StoreServer::serve(const SocketAddress& address,
                                                        std::unique_ptr<JobKey> key) {
  PACELINE_TRY_ASSIGN(UniqueFd listener, listen_on(address));
  PACELINE_TRY_ASSIGN(const SocketAddress bound, SocketAddress::of_local_end(listener.get()));
  UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop) {
    return Status(Code::kExhausted, Scope::kProcess,
                  std::string("store: eventfd: ") + std::strerror(errno));
  }
  return std::unique_ptr<StoreServer>(new StoreServer(
      std::make_unique<Loop>(std::move(listener), bound, std::move(key), std::move(stop))));
}

}  // namespace paceline
