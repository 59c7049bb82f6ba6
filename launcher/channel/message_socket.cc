#include "launcher/channel/message_socket.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>

#include "comm/base/try.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kMaxDescriptors = 8;  // with one frame
constexpr std::size_t kMaxUnclaimed = 64;   // descriptors that came and were not taken

struct ControlBuffer {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> bytes{};
};

void attach(msghdr& message, ControlBuffer& control, const std::vector<UniqueFd>& descriptors) {
  message.msg_control = control.bytes.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const int fd = descriptors[i].get();
    std::memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof(int));
  }
}

void collect(msghdr& message, std::deque<UniqueFd>& into) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      into.emplace_back(fd);
    }
  }
}

}  // namespace

MessageSocket::MessageSocket(EventLoop& loop, UniqueFd socket, std::string peer)
    : loop_(loop), socket_(std::move(socket)), peer_(std::move(peer)) {}

void MessageSocket::open(Receive receive, Closed closed) {
  receive_ = std::move(receive);
  closed_ = std::move(closed);
  set_reading(true);
}

void MessageSocket::set_reading(bool on) {
  if (!socket_ || reading_ == on) return;
  reading_ = on;
  if (on)
    loop_.when_readable(socket_.get(), [this] { read_some(); });
  else
    loop_.forget_readable(socket_.get());
}

void MessageSocket::close() {
  if (!socket_) return;
  set_reading(false);
  loop_.forget_writable(socket_.get());
  socket_.reset();
  queue_.clear();
  backlog_bytes_ = 0;
}

void MessageSocket::fail(const Status& why) {
  close();
  closed_(why.with_context(peer_));
}

void MessageSocket::read_some() {
  std::array<char, kReadBytes> bytes;
  ControlBuffer control;
  iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got < 0 && errno != ECONNRESET)
    return fail(Status(Code::kUnavailable, Scope::kPeer, std::strerror(errno)));
  if (got <= 0) return fail(Status());
  collect(message, received_);
  if ((message.msg_flags & MSG_CTRUNC) != 0 || received_.size() > kMaxUnclaimed)
    return fail(Status(Code::kExhausted, Scope::kPeer,
                       "too many file descriptors were received; raise `ulimit -n`"));
  decoder_.append(std::string_view(bytes.data(), static_cast<std::size_t>(got)));
  if (const Status status = deliver(); !status.ok()) fail(status);
}

Status MessageSocket::deliver() {
  while (socket_) {
    PACELINE_TRY_ASSIGN(const std::optional<std::string_view> payload, decoder_.next());
    if (!payload) return Status();
    PACELINE_TRY(receive_(*payload));
  }
  return Status();
}

Result<UniqueFd> MessageSocket::take_descriptor() {
  if (received_.empty())
    return Status(Code::kInternal, Scope::kPeer, peer_ + " sent a message without its descriptors");
  UniqueFd descriptor = std::move(received_.front());
  received_.pop_front();
  return descriptor;
}

Status MessageSocket::send(std::string_view payload, std::vector<UniqueFd> descriptors) {
  if (!socket_) return Status();
  PACELINE_TRY_ASSIGN(std::string frame, encode_frame(payload));
  backlog_bytes_ += frame.size();
  const bool idle = queue_.empty();
  queue_.push_back({.bytes = std::move(frame), .descriptors = std::move(descriptors)});
  if (idle) flush();
  return Status();
}

void MessageSocket::flush() {
  while (!queue_.empty() && send_front()) {
  }
  if (!queue_.empty()) {
    loop_.when_writable(socket_.get(), [this] {
      flush();
      if (queue_.empty() && drained_) drained_();
    });
  } else {
    loop_.forget_writable(socket_.get());
  }
}

// False when the socket takes no more now. What cannot be sent any more is dropped: the reading
// side is where the end of a connection is noticed.
bool MessageSocket::send_front() {
  Packet& packet = queue_.front();
  ControlBuffer control;
  iovec part{.iov_base = packet.bytes.data() + packet.sent,
             .iov_len = packet.bytes.size() - packet.sent};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!packet.descriptors.empty()) attach(message, control, packet.descriptors);
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  // ETOOMANYREFS: the peer has yet to take descriptors that are under way.
  if (sent < 0 && (errno == EAGAIN || errno == ETOOMANYREFS)) return false;
  if (sent < 0 && errno == EINTR) return true;
  if (sent >= 0) packet.sent += static_cast<std::size_t>(sent);
  if (sent > 0) packet.descriptors.clear();
  if (sent >= 0 && packet.sent < packet.bytes.size()) return true;
  backlog_bytes_ -= packet.bytes.size();
  queue_.pop_front();
  return true;
}

}  // namespace paceline::launcher
