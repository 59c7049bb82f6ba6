#include "comm/transport/tcp_link.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "comm/socket.h"
#include "comm/transport/sealed_stream.h"
#include "comm/transport/socket_stream.h"

namespace paceline {
namespace {

// How long a process that ends our connections in the greeting is dialed again, and the pause
// between two tries, give or take a half. A flood of unauthenticated connections has passed long
// before (comm/listener.h).
constexpr Duration kDialTime = std::chrono::seconds(30);
constexpr Duration kRedial = std::chrono::milliseconds(200);

// A process that ends closes both connections. If the end of one is lost on its way, the link ends
// this long after the last bytes that came.
constexpr Duration kLastWordTime = std::chrono::seconds(5);

// A piece with so much missing is better read in large parts than at once.
constexpr std::size_t kMuchMissing = 64 * 1024;
// Parts of this size wake a sleeping rank once each, instead of once for every packet. On hosts at
// 1 Gbit/s that took a quarter (4 hosts) to an eighth (2) of the calls that read, and on 4 hosts
// 180 instead of 270 ms of a rank's CPU time in a step of ResNet-50.
constexpr std::size_t kLargePart = 128 * 1024;

Status peer_lost(const std::string& why) { return Status(Code::kPeerLost, Scope::kGroup, why); }

Status has_closed() { return peer_lost("the rank has closed its connection"); }

bool is_more_than_room(std::uint32_t events) {
  return (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0;
}

}  // namespace

Status TcpLink::Line::open(UniqueFd fd, std::unique_ptr<ByteStream> stream) {
  fd_ = std::move(fd);
  stream_ = std::move(stream);
  return link_.common_.engine.watch(fd_.get(), *this, interest_);
}

void TcpLink::Line::close() {
  if (!fd_) return;
  link_.common_.engine.forget(fd_.get(), *this);
  fd_.reset();
}

TcpLink::TcpLink(Common& common, const Hello& hello)
    : common_(common),
      hello_(hello),
      out_(*this, &TcpLink::out_is_ready, PollEngine::Interest::kToReadAndWrite),
      in_(*this, &TcpLink::in_is_ready, PollEngine::Interest::kToRead) {}

std::unique_ptr<ByteStream> TcpLink::stream_over(const UniqueFd& fd, const Mac& secret) const {
  auto plain = std::make_unique<SocketStream>(fd.get());
  if (!common_.integrity) return plain;
  return std::make_unique<SealedStream>(std::move(plain), secret);
}

// ---- Connecting ----

void TcpLink::reach() {
  if (connected()) {
    flush();
  } else if (is_undialed() && groups_.has_to_send()) {
    dial_ = std::make_unique<TcpDial>(common_.engine, common_.key, hello_, address_);
  }
}

bool TcpLink::drive_dial(TimePoint now) {
  if (dial_ == nullptr && now >= redial_at_) {
    redial_at_ = TimePoint::max();
    reach();
    if (dial_ == nullptr) dial_until_ = TimePoint::max();  // nothing is to be sent any more
  }
  if (dial_ == nullptr) return false;
  const GreetingState state = dial_->drive();
  if (state == GreetingState::kPending) return false;
  if (state == GreetingState::kFailed) {
    redial_or_end(now);
    return true;
  }
  UniqueFd fd = dial_->release();
  auto stream = stream_over(fd, dial_->secret());
  dial_.reset();
  dial_until_ = TimePoint::max();
  if (const Status status = out_.open(std::move(fd), std::move(stream)); !status.ok()) lose(status);
  return true;
}

// The other process may have had too many unauthenticated connections.
void TcpLink::redial_or_end(TimePoint now) {
  if (!dial_->hung_up()) return end_sending(Status(dial_->error()));
  if (dial_until_ == TimePoint::max()) dial_until_ = now + kDialTime;
  if (now < dial_until_) {
    constexpr auto kSpread = static_cast<std::uint64_t>(kRedial.count());
    dial_.reset();
    redial_at_ = now + kRedial / 2 + Duration(common_.random.below(kSpread));
  } else {
    end_sending(peer_lost(
        "the rank closed every connection of this rank before authentication; check that all "
        "ranks have the same job key"));
  }
}

void TcpLink::end_former() {
  if (connected()) (void)look_at_out();
  if (!in_.is_open()) return;
  readable_ = true;
  (void)read();
  lose(peer_lost("the connection broke: the rank has made a new one"));
}

void TcpLink::accept(UniqueFd fd, const Mac& secret) {
  readable_ = true;
  auto stream = stream_over(fd, secret);
  if (const Status status = in_.open(std::move(fd), std::move(stream)); !status.ok()) lose(status);
}

// ---- Writing and reading ----

bool TcpLink::out_is_ready(std::uint32_t events) {
  if (is_more_than_room(events) && look_at_out()) return true;
  writing_rest_.end();
  return flush();
}

bool TcpLink::in_is_ready(std::uint32_t events) {
  readable_ = true;
  in_ends_ |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  return read();
}

// Nothing comes through it but its end.
bool TcpLink::look_at_out() {
  std::byte byte;
  const ssize_t got = ::recv(out_.fd(), &byte, sizeof byte, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got == 0) {
    end_sending(has_closed());
  } else if (got < 0) {
    end_sending(peer_lost(std::string("the connection broke: ").append(std::strerror(errno))));
  } else {
    end_sending(peer_lost("the rank sent data on a connection that only this rank may write to"));
  }
  return true;
}

bool TcpLink::drive(TimePoint now) {
  has_looked_ = false;
  bool moved = drive_dial(now);
  moved |= flush();
  const bool heard = readable_ && read();
  moved |= heard;
  if (!out_end_.ok()) moved |= wait_for_the_end(now, heard);
  if (!connected()) reach();
  return moved;
}

bool TcpLink::wait_for_the_end(TimePoint now, bool heard) {
  if (heard || ends_at_ == TimePoint::max()) ends_at_ = now + kLastWordTime;
  if (now < ends_at_) return false;
  lose(Status(out_end_));
  return true;
}

TimePoint TcpLink::wake_at() const { return out_end_.ok() ? redial_at_ : ends_at_; }

bool TcpLink::flush() {
  if (!connected() || !has_to_send() || !writing_rest_.is_over()) return false;
  ByteStream& stream = out_.stream();
  const bool had_rest = stream.has_unsent();
  StreamState state = had_rest ? stream.write({}).state : StreamState::kIdle;
  const bool rest_has_left = had_rest && !stream.has_unsent();
  if (state != StreamState::kBroken && groups_.has_to_send()) state = groups_.flush(stream);
  if (has_to_send()) writing_rest_.begin();
  if (state == StreamState::kBroken) end_sending(Status(stream.error()));
  return rest_has_left || state != StreamState::kIdle;
}

// Bytes that were read may give credit back. The credit must leave now: this process may not drive
// the link again soon.
bool TcpLink::look() {
  if (!in_.is_open() || std::exchange(has_looked_, true)) return false;
  if (!readable_ && !reading_rest_.is_over()) return false;
  const bool moved = read();
  return (moved && flush()) || moved;
}

bool TcpLink::read() {
  if (!in_.is_open()) return false;
  const StreamState state = groups_.read(in_.stream());
  readable_ = in_ends_;  // there may be more
  wait_for_large_pieces();
  if (least_readable_ > 1) reading_rest_.begin();
  if (state == StreamState::kClosed) lose(has_closed());
  if (state == StreamState::kBroken) lose(groups_.error());
  return state != StreamState::kIdle;
}

// The missing part of a piece comes before anything else, and needs nothing from this process.
void TcpLink::wait_for_large_pieces() {
  const std::size_t missing =
      groups_.missing_bytes() - std::min(groups_.missing_bytes(), in_.stream().held_bytes());
  const bool is_large = missing > kMuchMissing || least_readable_ > 1;
  const std::size_t least = is_large ? std::clamp<std::size_t>(missing, 1, kLargePart) : 1;
  if (least == least_readable_) return;
  least_readable_ = least;
  set_least_readable(in_.fd(), least);
}

std::uint64_t TcpLink::acknowledged() const {
  if (!connected()) return 0;
  int queued = 0;
  if (::ioctl(out_.fd(), SIOCOUTQ, &queued) != 0) return groups_.written();
  const std::uint64_t outstanding =
      static_cast<std::uint64_t>(queued) +
      (out_.stream().has_unsent() ? SealedStream::kMaxRecordBytes : 0);
  return groups_.written() - std::min(groups_.written(), outstanding);
}

// ---- The end ----

void TcpLink::end_sending(const Status& why) {
  if (!in_.is_open()) return lose(why);
  dial_.reset();
  redial_at_ = TimePoint::max();
  out_.close();
  out_end_ = why;
  readable_ = true;
}

// Groups that come later begin anew.
void TcpLink::lose(const Status& why) {
  const Status end = why;  // `why` may be the link's own
  dial_.reset();
  redial_at_ = dial_until_ = TimePoint::max();
  out_.close();
  in_.close();
  readable_ = in_ends_ = false;
  least_readable_ = 1;
  out_end_ = {};
  ends_at_ = TimePoint::max();
  groups_.lose(end);
}

}  // namespace paceline
