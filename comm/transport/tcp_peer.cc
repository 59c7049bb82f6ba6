#include "comm/transport/tcp_peer.h"

#include <cstddef>

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "comm/transport/socket_stream.h"

namespace paceline {
namespace {

constexpr int kLastReads = 256;

}  // namespace

void TcpPeer::adopt(UniqueFd fd) {
  dial.reset();
  redial_at = TimePoint::max();
  fd_ = std::move(fd);
  readable_ = true;
  if (Status status = engine_.watch(fd_.get(), *this); !status.ok()) lose(status);
}

bool TcpPeer::on_ready(std::uint32_t events) {
  if (events & ~static_cast<std::uint32_t>(EPOLLOUT)) readable_ = true;
  return drive();
}

bool TcpPeer::drive() {
  bool moved = false;
  if (connected()) moved |= flush();
  if (connected()) moved |= drive_inbox();
  return moved;
}

bool TcpPeer::flush() {
  if (outbox.empty()) return false;
  SocketStream stream(fd_.get());
  const StreamState state = outbox.flush(stream);
  if (state == StreamState::kBroken) {
    // What the peer sent before is still there to be read, and its end behind it: its last word,
    // too, which must not wait until there is room for the data before it.
    if (inbox.stalled()) inbox.discard_new_data();
    readable_ = true;
  }
  return state != StreamState::kIdle;
}

bool TcpPeer::drive_inbox() {
  if (inbox.stalled() || !(readable_ || inbox.expects())) return false;
  SocketStream stream(fd_.get());
  const StreamState state = inbox.read(stream);
  readable_ = inbox.stalled() || inbox.crowded();  // there may be more
  if (state == StreamState::kClosed) {
    lose(Status(Code::kPeerLost, Scope::kGroup, "the rank has closed its connection"));
  }
  if (state == StreamState::kBroken) lose(inbox.error());
  return state != StreamState::kIdle;
}

void TcpPeer::lose(const Status& why) {
  if (lost()) return;
  loss_ = Status(Code::kPeerLost, Scope::kGroup, why.text(), who_);
  dial.reset();
  redial_at = TimePoint::max();
  disconnect();
  inbox.end_receives(loss_);
  outbox.drop_all(loss_);
}

void TcpPeer::abort(const Status& why) {
  inbox.discard_data(why);
  outbox.drop_data(why);
  readable_ = true;
}

bool TcpPeer::is_telling() const {
  if (lost()) return false;
  if (outbox.has_own()) return true;
  int unacknowledged = 0;
  return connected() && outbox.has_last_word() &&
         ::ioctl(fd_.get(), SIOCOUTQ, &unacknowledged) == 0 && unacknowledged > 0;
}

void TcpPeer::disconnect() {
  if (!fd_) return;
  engine_.forget(fd_.get(), *this);
  // Input that nobody has read would turn the close into a reset, and a reset takes along what
  // was sent and has not arrived.
  ::shutdown(fd_.get(), SHUT_WR);
  std::byte unread[16 * 1024];
  for (int reads = 0; reads < kLastReads; ++reads) {
    if (::recv(fd_.get(), unread, sizeof unread, 0) <= 0) break;
  }
  fd_.reset();
}

}  // namespace paceline
