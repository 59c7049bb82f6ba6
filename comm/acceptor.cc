#include "comm/acceptor.h"

#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "comm/base/ip_address.h"
#include "comm/base/parent_descriptors.h"
#include "comm/base/system_error.h"
#include "comm/base/try.h"
#include "comm/socket.h"

namespace paceline {
namespace {

constexpr auto kListening = std::numeric_limits<std::uint64_t>::max();

std::string name_of_user(int fd) {
  const Result<unsigned> user = peer_user(fd);
  return user.ok() ? "user " + std::to_string(*user) : "an unknown user";
}

// Without what IPv6 puts around an IPv4 address.
std::string name_of_peer(int fd) {
  const Result<SocketAddress> address = SocketAddress::of_remote_end(fd);
  if (address.ok() && address->is_unix()) return name_of_user(fd);
  const auto host = address.ok() ? IpAddress::of(address->data()) : std::nullopt;
  return host ? with_port(host->to_string(), address->port()) : "a peer that has disconnected";
}

}  // namespace

Acceptor::Acceptor(UniqueFd listening, Epoll epoll, Owner& owner, Options options)
    : listening_(std::move(listening)),
      epoll_(std::move(epoll)),
      owner_(owner),
      reports_data_(options.reports_data),
      shortage_notice_(std::move(options.shortage_notice)),
      refusals_(std::move(options.log), std::move(options.name)),
      book_(options.max_connections) {
  keep_spare();
}

Result<std::unique_ptr<Acceptor>> Acceptor::create(UniqueFd listening, Owner& owner,
                                                   Options options) {
  PACELINE_TRY_ASSIGN(Epoll epoll, Epoll::create());
  std::unique_ptr<Acceptor> acceptor(
      new Acceptor(std::move(listening), std::move(epoll), owner, std::move(options)));
  PACELINE_TRY(acceptor->watch(acceptor->listening_.get(), EPOLLIN, kListening));
  return acceptor;
}

Acceptor::~Acceptor() {
  forget(listening_.get());
  while (!connections_.empty()) end(connections_.begin()->first);
}

// Peers are heard before they may have to give way.
bool Acceptor::drive(TimePoint now) {
  bool moved = take_events();
  for (int i = 0; i < kMaxAccepts && more_wait_ && book_.may_accept(now); ++i)
    moved |= accept_one(now);
  while (const auto id = book_.late(now)) {
    close(*id, RefusalLog::kTooLate);
    moved = true;
  }
  return moved;
}

// Bounded: a connection ends once, and has no more other events than the bytes that its owner
// reads.
bool Acceptor::take_events() {
  std::array<epoll_event, 64> room;
  bool moved = false;
  for (;;) {
    const auto events = epoll_.wait(room, Duration::zero());
    for (const epoll_event& event : events) {
      if (event.data.u64 == kListening)
        more_wait_ = true;
      else if (const Id id{event.data.u64}; connections_.contains(id))
        owner_.on_ready(id);
      moved = true;
    }
    if (events.size() < room.size()) return moved;
  }
}

bool Acceptor::accept_one(TimePoint now) {
  Result<UniqueFd> fd = accept_from(listening_.get());
  if (!fd.ok()) return failed(now, fd.status());
  if (!*fd) return more_wait_ = false;
  while (book_.is_full(now)) close(*book_.gives_way(now), RefusalLog::kGaveWay);
  admit(*std::move(fd), now);
  return true;
}

void Acceptor::admit(UniqueFd fd, TimePoint now) {
  const Id id = book_.admit(now);
  std::string peer = name_of_peer(fd.get());
  const std::uint32_t events = reports_data_ ? EPOLLIN | EPOLLRDHUP : EPOLLRDHUP;
  const Status watched = watch(fd.get(), events, static_cast<std::uint64_t>(id));
  connections_.emplace(id, Connection{.fd = std::move(fd), .peer = std::move(peer)});
  if (watched.ok())
    owner_.accepted(id);
  else
    refuse(id, watched.text());
}

// True if another try makes sense at once.
bool Acceptor::failed(TimePoint now, const Status& why) {
  refusals_.cannot_accept(why.text());
  const bool lacks_descriptors = why.code() == Code::kExhausted;
  const auto oldest = lacks_descriptors ? book_.gives_way(now) : std::nullopt;
  if (oldest) return close(*oldest, RefusalLog::kGaveWay), true;
  if (lacks_descriptors && book_.is_short(now) && tell_of_shortage()) return true;
  book_.failed(now);
  return false;
}

// A peer that is told does not wait until its deadline. False if nobody was told.
bool Acceptor::tell_of_shortage() {
  if (!spare_) return false;
  spare_.reset();
  Result<UniqueFd> fd = accept_from(listening_.get());
  const bool is_told = fd.ok() && *fd;
  if (is_told)
    (void)::send(fd->get(), shortage_notice_.data(), shortage_notice_.size(), MSG_NOSIGNAL);
  if (fd.ok()) fd->reset();
  keep_spare();
  return is_told;
}

void Acceptor::keep_spare() {
  if (!shortage_notice_.empty()) spare_.reset(::fcntl(epoll_.fd(), F_DUPFD_CLOEXEC, 0));
}

void Acceptor::close(Id id, std::string_view why) {
  refuse(id, why);
  owner_.closed(id);
}

UniqueFd Acceptor::take(Id id) {
  UniqueFd& fd = connections_.at(id).fd;
  forget(fd.get());
  return std::move(fd);
}

void Acceptor::authenticated(Id id) {
  book_.authenticated(id);
  end(id);
}

void Acceptor::refuse(Id id, std::string_view why) {
  refusals_.refused(peer(id), why);
  left(id);
}

void Acceptor::left(Id id) {
  book_.refused(id);
  end(id);
}

// Another process, or gRPC, may have the connection open too: it ends for all of them.
void Acceptor::end(Id id) {
  const auto found = connections_.find(id);
  if (const UniqueFd& fd = found->second.fd) {
    forget(fd.get());
    ::shutdown(fd.get(), SHUT_RDWR);
  }
  connections_.erase(found);
}

Status Acceptor::watch(int fd, std::uint32_t events, std::uint64_t id) {
  epoll_event event{.events = events | EPOLLET, .data = {.u64 = id}};
  if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event) != 0)
    return Status(Code::kExhausted, Scope::kProcess,
                  std::string("epoll_ctl: ") + error_text(errno));
  keep_from_children(fd);
  return {};
}

void Acceptor::forget(int fd) {
  leave_to_children(fd);
  ::epoll_ctl(epoll_.fd(), EPOLL_CTL_DEL, fd, nullptr);
}

}  // namespace paceline
