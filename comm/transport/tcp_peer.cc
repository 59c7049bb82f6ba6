#include "comm/transport/tcp_peer.h"

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

namespace paceline {
namespace {

// A peer that has gone has closed both connections. Where the end of the other one got lost on its
// way, so long after the last that came through it.
constexpr Duration kLastWordTime = std::chrono::seconds(5);

// Of a message of which so much is missing it matters more to be read in large pieces than at once.
constexpr std::size_t kMuchMissing = 64 * 1024;
// So large: a rank that sleeps is woken once for each, not for every packet. On hosts at 1 Gbit/s
// that took a quarter (4 hosts) to an eighth (2) of the calls that read, and on 4 hosts 180 instead
// of 270 ms of a rank's CPU time in a step of ResNet-50.
constexpr std::size_t kLargePiece = 128 * 1024;

Status peer_lost(const std::string& why) { return Status(Code::kPeerLost, Scope::kGroup, why); }

Status has_closed() { return peer_lost("the rank has closed its connection"); }

bool is_more_than_room(std::uint32_t events) {
  return (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0;
}

}  // namespace

Status TcpPeer::Line::open(UniqueFd fd, std::unique_ptr<ByteStream> stream) {
  fd_ = std::move(fd);
  stream_ = std::move(stream);
  return peer_.engine_.watch(fd_.get(), *this, interest_);
}

void TcpPeer::Line::close() {
  if (!fd_) return;
  peer_.engine_.forget(fd_.get(), *this);
  fd_.reset();
}

TcpPeer::TcpPeer(PollEngine& engine, Culprit who)
    : engine_(engine),
      who_(std::move(who)),
      out_(*this, &TcpPeer::out_is_ready, PollEngine::Interest::kToReadAndWrite),
      in_(*this, &TcpPeer::in_is_ready, PollEngine::Interest::kToRead) {}

void TcpPeer::write_to(UniqueFd fd, std::unique_ptr<ByteStream> stream) {
  dial.reset();
  redial_at = TimePoint::max();
  if (const Status status = out_.open(std::move(fd), std::move(stream)); !status.ok()) lose(status);
}

void TcpPeer::read_from(UniqueFd fd, std::unique_ptr<ByteStream> stream) {
  readable_ = true;
  if (const Status status = in_.open(std::move(fd), std::move(stream)); !status.ok()) lose(status);
}

bool TcpPeer::out_is_ready(std::uint32_t events) {
  if (is_more_than_room(events) && look_at_out()) return true;
  writing_rest_.end();
  return flush();
}

bool TcpPeer::in_is_ready(std::uint32_t events) {
  readable_ = true;
  in_ends_ |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  return drive_inbox();
}

// Nothing comes through it but its end.
bool TcpPeer::look_at_out() {
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

bool TcpPeer::drive(TimePoint now) {
  bool moved = flush();
  const bool heard = drive_inbox();
  moved |= heard;
  if (!out_end_.ok() && !lost()) moved |= wait_for_the_end(now, heard);
  return moved;
}

bool TcpPeer::wait_for_the_end(TimePoint now, bool heard) {
  // What it has sent must not wait until there is room for the data before it, where somebody
  // waits for its loss.
  if (inbox.stalled() && !outbox.empty()) {
    inbox.discard_new_data();
    return readable_ = true;
  }
  if (heard || inbox.stalled() || ends_at_ == TimePoint::max()) ends_at_ = now + kLastWordTime;
  if (now < ends_at_) return false;
  lose(Status(out_end_));
  return true;
}

TimePoint TcpPeer::wake_at() const {
  const bool is_ending = !out_end_.ok() && !lost() && !inbox.stalled();
  return is_ending ? ends_at_ : redial_at;
}

bool TcpPeer::flush() {
  if (!connected() || !has_to_send() || !writing_rest_.is_over()) return false;
  ByteStream& stream = out_.stream();
  const bool had_rest = stream.has_unsent();
  StreamState state = had_rest ? stream.write({}).state : StreamState::kIdle;
  const bool rest_has_left = had_rest && !stream.has_unsent();
  if (state != StreamState::kBroken && !outbox.empty()) state = outbox.flush(stream);
  if (has_to_send()) writing_rest_.begin();
  if (state == StreamState::kBroken) end_sending(Status(stream.error()));
  return rest_has_left || state != StreamState::kIdle;
}

bool TcpPeer::drive_inbox() {
  if (!is_heard() || inbox.stalled() || !(readable_ || inbox.expects())) return false;
  if (!readable_ && !reading_rest_.is_over()) return false;
  const StreamState state = inbox.read(in_.stream());
  readable_ = inbox.stalled() || inbox.crowded() || in_ends_;  // there may be more
  wait_for_large_pieces();
  if (least_readable_ > 1) reading_rest_.begin();
  if (state == StreamState::kClosed) lose(has_closed());
  if (state == StreamState::kBroken) lose(inbox.error());
  return state != StreamState::kIdle;
}

// What is missing of a message comes without anything that this rank does first.
void TcpPeer::wait_for_large_pieces() {
  const std::size_t missing =
      inbox.missing_bytes() - std::min(inbox.missing_bytes(), in_.stream().held_bytes());
  const bool is_large = missing > kMuchMissing || least_readable_ > 1;
  const std::size_t least = is_large ? std::clamp<std::size_t>(missing, 1, kLargePiece) : 1;
  if (least == least_readable_) return;
  least_readable_ = least;
  set_least_readable(in_.fd(), least);
}

void TcpPeer::end_sending(const Status& why) {
  if (!is_heard()) return lose(why);
  dial.reset();
  redial_at = TimePoint::max();
  out_.close();
  out_end_ = why;
  readable_ = true;
}

void TcpPeer::lose(const Status& why) {
  if (lost()) return;
  loss_ = Status(Code::kPeerLost, Scope::kGroup, why.text(), who_);
  dial.reset();
  redial_at = TimePoint::max();
  out_.close();
  in_.close();
  inbox.end_receives(loss_);
  outbox.drop_all(loss_);
}

void TcpPeer::abort(const Status& why) {
  inbox.discard_data(why);
  outbox.drop_data(why);
  readable_ = true;
}

// A process that ends before may have its connections reset, and what has not left is gone.
bool TcpPeer::is_telling() const {
  if (lost() || !out_end_.ok()) return false;
  if (outbox.has_own() || (connected() && out_.stream().has_unsent())) return true;
  int unacknowledged = 0;
  return connected() && outbox.has_last_word() &&
         ::ioctl(out_.fd(), SIOCOUTQ, &unacknowledged) == 0 && unacknowledged > 0;
}

}  // namespace paceline
