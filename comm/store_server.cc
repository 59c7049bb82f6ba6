#include "comm/store_server.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "comm/base/clock.h"
#include "comm/base/descriptors.h"
#include "comm/base/system_error.h"
#include "comm/base/try.h"
#include "comm/exit.h"
#include "comm/store_book.h"
#include "comm/store_strangers.h"
#include "comm/stranger_book.h"

namespace paceline {
namespace {

constexpr std::size_t kMaxClients = 4096;
// Between two batches everybody else is heard.
constexpr int kAcceptBatch = 64;
// How long nobody is let in when the process has no descriptors left.
constexpr Duration kPauseWhenExhausted = std::chrono::milliseconds(100);
// The poll entries that come before those of strangers and clients.
constexpr std::size_t kWakeEntry = 0, kListenerEntry = 1, kOwnEntries = 2;

int poll_timeout(TimePoint now, TimePoint wake) {
  if (wake == TimePoint::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace

// The sockets: who is here, and which bytes go between them and the book.
class StoreServer::Loop final : private EndsAtExit {
 public:
  Loop(UniqueFd listener, SocketAddress address, std::unique_ptr<JobKey> key, UniqueFd wake,
       StoreServerOptions options)
      : listener_(std::move(listener)),
        address_(address),
        key_(std::move(key)),
        wake_(std::move(wake)),
        spare_(::fcntl(wake_.get(), F_DUPFD_CLOEXEC, 0)),
        refused_(std::move(options.log), "store at " + address.to_string()),
        book_(std::move(options.live), {}),
        thread_([this] { run(); }) {
    exit_entry_.enter(*this);
  }
  ~Loop() {
    exit_entry_.leave();
    stop();
  }

  void rank_ended(int rank, std::string how) {
    {
      const std::lock_guard lock(mutex_);
      ended_.emplace_back(rank, std::move(how));
    }
    wake();
  }

  const SocketAddress& address() const { return address_; }
  std::uint64_t refused() const { return refused_.count(); }

 private:
  struct Client {
    UniqueFd fd;
    StoreBook::ClientId id;
    bool gone = false;
  };

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
  void let_in();
  bool make_room();
  bool refuse_one();
  bool is_open(TimePoint now) const;
  void admit(UniqueFd fd);
  void admit_user(UniqueFd fd);
  void add_client(UniqueFd fd, const std::string& address, Bytes unsent);

  const UniqueFd listener_;
  const SocketAddress address_;
  const std::unique_ptr<JobKey> key_;  // null: a Unix socket
  const UniqueFd wake_;
  UniqueFd spare_;  // if the process has no other descriptor, this one is used to refuse a client
  std::atomic<bool> stopping_{false};
  const SystemClock clock_;
  StrangerBook refused_;
  std::optional<StoreStrangers> strangers_;  // with a key
  StoreBook book_;
  std::vector<Client> clients_;
  TimePoint closed_until_ = TimePoint::min();
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
  if (key_ != nullptr) strangers_.emplace(*key_, refused_);
  std::vector<pollfd> polled;
  while (poll_all(polled)) {
    const std::span<const pollfd> others = std::span(polled).subspan(kOwnEntries);
    const std::size_t strangers = strangers_ ? strangers_->size() : 0;
    serve_clients(others.subspan(strangers));
    // Runs after serve_clients(), so that what a rank sent before its end is processed first.
    if (polled[kWakeEntry].revents != 0) hear_of_ends();
    if (strangers > 0) {
      for (auto& proven : strangers_->drive(others.first(strangers), clock_.now())) {
        add_client(std::move(proven.fd), proven.address, std::move(proven.unsent));
      }
    }
    for (Client& client : clients_) write_to(client);
    let_go();
    if (polled[kListenerEntry].revents != 0) let_in();
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
  const TimePoint now = clock_.now();
  const short arrivals = is_open(now) ? POLLIN : 0;
  polled.assign(
      {{.fd = wake_.get(), .events = POLLIN}, {.fd = listener_.get(), .events = arrivals}});
  if (strangers_) strangers_->append_to(polled);
  for (const Client& client : clients_) {
    const bool waits = !book_.unsent(client.id).empty();
    polled.push_back(
        {.fd = client.fd.get(), .events = static_cast<short>(waits ? POLLIN | POLLOUT : POLLIN)});
  }
  TimePoint wake = now < closed_until_ ? closed_until_ : TimePoint::max();
  if (strangers_) wake = std::min(wake, strangers_->wake_at(now));
  const int ready = ::poll(polled.data(), polled.size(), poll_timeout(now, wake));
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
    return true;
  });
}

bool StoreServer::Loop::is_open(TimePoint now) const {
  return now >= closed_until_ && (!strangers_ || strangers_->has_room(now));
}

void StoreServer::Loop::let_in() {
  for (int i = 0; i < kAcceptBatch && is_open(clock_.now()); ++i) {
    Result<UniqueFd> fd = accept_from(listener_.get());
    if (fd.ok() && !*fd) return;
    if (fd.ok()) {
      admit(*std::move(fd));
    } else if (!make_room()) {
      closed_until_ = clock_.now() + kPauseWhenExhausted;
    }
  }
}

// If the process has no descriptor left for the next connection: true if that has changed.
bool StoreServer::Loop::make_room() {
  if (!strangers_ || descriptors().left() > 0) return false;
  return strangers_->size() > 0 ? strangers_->drop_oldest(clock_.now()) : refuse_one();
}

// Tells a dialer that this process has no descriptor for it, so that it does not wait until its
// deadline. False if nobody was told.
bool StoreServer::Loop::refuse_one() {
  spare_.reset();
  Result<UniqueFd> fd = accept_from(listener_.get());
  const bool is_told = fd.ok() && *fd;
  if (is_told) {
    const auto refusal = refusal_without_descriptors();
    (void)!::send(fd->get(), refusal.data(), refusal.size(), MSG_NOSIGNAL);
    fd->reset();
  }
  spare_.reset(::fcntl(wake_.get(), F_DUPFD_CLOEXEC, 0));
  return is_told;
}

void StoreServer::Loop::admit(UniqueFd fd) {
  if (strangers_) {
    strangers_->admit(std::move(fd), clock_.now());
  } else {
    admit_user(std::move(fd));
  }
}

void StoreServer::Loop::admit_user(UniqueFd fd) {
  const Result<unsigned> user = peer_user(fd.get());
  const std::string name = user.ok() ? "user " + std::to_string(*user) : "an unknown user";
  if (!user.ok() || (*user != ::geteuid() && *user != 0)) {
    refused_.refused(name, "only user " + std::to_string(::geteuid()) + " and root may connect");
  } else {
    add_client(std::move(fd), name, {});
  }
}

void StoreServer::Loop::add_client(UniqueFd fd, const std::string& address, Bytes unsent) {
  if (clients_.size() >= kMaxClients) {
    refused_.refused(address,
                     std::to_string(kMaxClients) + " clients are connected already, the max");
  } else {
    clients_.push_back({.fd = std::move(fd), .id = book_.admit(std::move(unsent))});
  }
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
  PACELINE_TRY_ASSIGN(UniqueFd listener, listen_on(address, options.ports));
  PACELINE_TRY_ASSIGN(const SocketAddress bound, SocketAddress::of_local_end(listener.get()));
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) {
    return Status(Code::kExhausted, Scope::kProcess,
                  std::string("store: eventfd: ") + error_text(errno));
  }
  return std::unique_ptr<StoreServer>(new StoreServer(std::make_unique<Loop>(
      std::move(listener), bound, std::move(key), std::move(wake), std::move(options))));
}

}  // namespace paceline
