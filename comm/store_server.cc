#include "comm/store_server.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "comm/base/clock.h"
#include "comm/base/parent_descriptors.h"
#include "comm/base/system_error.h"
#include "comm/base/try.h"
#include "comm/exit.h"
#include "comm/listener.h"
#include "comm/store_book.h"

namespace paceline {
namespace {

constexpr std::size_t kMaxClients = 4096;
// The poll entries that come before those of clients.
constexpr std::size_t kWakeEntry = 0, kListenerEntry = 1, kOwnEntries = 2;

int poll_timeout(TimePoint now, TimePoint wake) {
  if (wake == TimePoint::max()) return -1;
  const Duration time = Deadline::at(wake).left(now);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  return static_cast<int>(std::min<std::int64_t>(left, 60'000));
}

}  // namespace

// The sockets: who is here, and which bytes go between them and the book.
class StoreServer::Loop final : private EndsAtExit {
 public:
  static Result<std::unique_ptr<Loop>> start(UniqueFd listening, std::unique_ptr<JobKey> key,
                                             StoreServerOptions options);
  ~Loop() {
    exit_entry_.leave();
    stop();
    for (const Client& client : clients_) leave_to_children(client.fd.get());
  }

  void rank_ended(int rank, std::string how) {
    {
      const std::lock_guard lock(mutex_);
      ended_.emplace_back(rank, std::move(how));
    }
    wake();
  }

  const SocketAddress& address() const { return address_; }
  std::uint64_t refused() const { return listener_->refused(); }

 private:
  struct Client {
    UniqueFd fd;
    StoreBook::ClientId id;
    bool gone = false;
  };

  Loop(SocketAddress address, std::unique_ptr<JobKey> key, UniqueFd wake,
       StoreServerOptions options)
      : address_(address),
        key_(std::move(key)),
        wake_(std::move(wake)),
        book_(std::move(options.live), {}) {}

  void wake() {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
  }
  void stop_at_exit(Deadline) override { stop(); }
  void stop();
  void run();
  void hear_of_ends();
  bool poll_all(std::vector<pollfd>& polled);
  void serve_clients(std::span<const pollfd> polled);
  void read_from(Client& client);
  void write_to(Client& client);
  void let_go();
  Status settle(AuthenticatedConnection& connection);

  const SocketAddress address_;
  const std::unique_ptr<JobKey> key_;  // null: a Unix socket
  const UniqueFd wake_;
  std::unique_ptr<Listener> listener_;
  std::atomic<bool> stopping_{false};
  const SystemClock clock_;
  StoreBook book_;
  std::vector<Client> clients_;
  std::mutex mutex_;                                // guards ended_
  std::vector<std::pair<int, std::string>> ended_;  // ranks whose end the thread must process
  std::thread thread_;                              // uses all other members
  ExitEntry exit_entry_;
};

void StoreServer::Loop::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  wake();
  thread_.join();
}

void StoreServer::Loop::run() {
  std::vector<pollfd> polled;
  while (poll_all(polled)) {
    serve_clients(std::span(polled).subspan(kOwnEntries));
    // Runs after serve_clients(), so that what a rank sent before its end is processed first.
    if (polled[kWakeEntry].revents != 0) hear_of_ends();
    for (Client& client : clients_) write_to(client);
    let_go();
    const TimePoint now = clock_.now();
    if (polled[kListenerEntry].revents != 0 || now >= listener_->wake_at()) listener_->drive(now);
  }
}

void StoreServer::Loop::hear_of_ends() {
  std::uint64_t wakes = 0;
  (void)!::read(wake_.get(), &wakes, sizeof wakes);
  std::vector<std::pair<int, std::string>> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(ended_);
  }
  for (auto& [rank, how] : ended) book_.rank_ended(rank, std::move(how));
}

// False when the server is to stop.
bool StoreServer::Loop::poll_all(std::vector<pollfd>& polled) {
  polled.assign({{.fd = wake_.get(), .events = POLLIN}, {.fd = listener_->fd(), .events = POLLIN}});
  for (const Client& client : clients_) {
    const bool waits = !book_.unsent(client.id).empty();
    polled.push_back(
        {.fd = client.fd.get(), .events = static_cast<short>(waits ? POLLIN | POLLOUT : POLLIN)});
  }
  const int ready =
      ::poll(polled.data(), polled.size(), poll_timeout(clock_.now(), listener_->wake_at()));
  if (stopping_) return false;
  if (ready >= 0) return true;
  for (pollfd& entry : polled) entry.revents = 0;
  return errno == EINTR;
}

void StoreServer::Loop::serve_clients(std::span<const pollfd> polled) {
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (polled[i].revents & POLLOUT) write_to(clients_[i]);
    if (polled[i].revents & ~POLLOUT) read_from(clients_[i]);
  }
}

void StoreServer::Loop::read_from(Client& client) {
  std::byte buffer[16 * 1024];
  while (!client.gone && !book_.broken(client.id)) {
    const ssize_t got = ::read(client.fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      client.gone = true;
      return;
    }
    book_.receive(client.id, ByteView(buffer, static_cast<std::size_t>(got)));
    write_to(client);
  }
}

void StoreServer::Loop::write_to(Client& client) {
  while (!client.gone && !book_.unsent(client.id).empty()) {
    const ByteView bytes = book_.unsent(client.id);
    const ssize_t sent = ::send(client.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) client.gone = true;
    if (sent < 0) return;
    book_.sent(client.id, static_cast<std::size_t>(sent));
  }
}

void StoreServer::Loop::let_go() {
  std::erase_if(clients_, [this](const Client& client) {
    if (!client.gone && !book_.broken(client.id)) return false;
    book_.forget(client.id);
    leave_to_children(client.fd.get());
    return true;
  });
}

Status StoreServer::Loop::settle(AuthenticatedConnection& connection) {
  const auto denied = [](const std::string& why) {
    return Status(Code::kDenied, Scope::kPeer, why);
  };
  if (key_ != nullptr && connection.hello().purpose != Purpose::kStore)
    return denied("its hello is not for the store");
  if (clients_.size() >= kMaxClients)
    return denied(std::to_string(kMaxClients) + " clients are connected already, the max");
  Result<UniqueFd> fd = connection.welcome();
  if (!fd.ok()) return {};
  keep_from_children(fd->get());
  clients_.push_back({.fd = *std::move(fd), .id = book_.admit()});
  return {};
}

Result<std::unique_ptr<StoreServer::Loop>> StoreServer::Loop::start(UniqueFd listening,
                                                                    std::unique_ptr<JobKey> key,
                                                                    StoreServerOptions options) {
  PACELINE_TRY_ASSIGN(const SocketAddress bound, SocketAddress::of_local_end(listening.get()));
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) {
    return Status(Code::kExhausted, Scope::kProcess,
                  std::string("store: eventfd: ") + error_text(errno));
  }
  Listener::Options accepting{.name = "store at " + bound.to_string(),
                              .log = std::move(options.log),
                              .max_unauthenticated = kMaxUnauthenticated};
  std::unique_ptr<Loop> loop(new Loop(bound, std::move(key), std::move(wake), std::move(options)));
  PACELINE_TRY_ASSIGN(loop->listener_,
                      Listener::create(std::move(listening), loop->key_.get(), std::move(accepting),
                                       [self = loop.get()](AuthenticatedConnection& connection) {
                                         return self->settle(connection);
                                       }));
  loop->thread_ = std::thread([self = loop.get()] { self->run(); });
  loop->exit_entry_.enter(*loop);
  return loop;
}

StoreServer::StoreServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
StoreServer::~StoreServer() = default;

const SocketAddress& StoreServer::address() const { return loop_->address(); }
void StoreServer::rank_ended(int rank, std::string how) { loop_->rank_ended(rank, std::move(how)); }
std::uint64_t StoreServer::refused() const { return loop_->refused(); }

Result<std::unique_ptr<StoreServer>> StoreServer::serve_unix(std::string_view name,
                                                             StoreServerOptions options) {
  PACELINE_TRY_ASSIGN(const SocketAddress address,
                      SocketAddress::parse("unix:" + std::string(name)));
  return serve(address, nullptr, std::move(options));
}

Result<std::unique_ptr<StoreServer>> StoreServer::serve_tcp(const SocketAddress& address,
                                                            std::unique_ptr<JobKey> key,
                                                            StoreServerOptions options) {
  if (key == nullptr) {
    return Status(Code::kDenied, Scope::kProcess,
                  "store: TCP requires a job key; set PACELINE_JOB_KEY_FILE");
  }
  return serve(address, std::move(key), std::move(options));
}

Result<std::unique_ptr<StoreServer>> StoreServer::serve(const SocketAddress& address,
                                                        std::unique_ptr<JobKey> key,
                                                        StoreServerOptions options) {
  PACELINE_TRY(prepare_for_exit());
  PACELINE_TRY_ASSIGN(UniqueFd listening, listen_on(address, options.ports));
  PACELINE_TRY_ASSIGN(auto loop,
                      Loop::start(std::move(listening), std::move(key), std::move(options)));
  return std::unique_ptr<StoreServer>(new StoreServer(std::move(loop)));
}

}  // namespace paceline
