#include "comm/transport/socket_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <sys/socket.h>
#include <sys/uio.h>

namespace paceline {
namespace {

// What the system calls take: the kernel writes to no part of a sendmsg().
class SystemMessage {
 public:
  template <class Part>
  explicit SystemMessage(std::span<const Part> parts) {
    const std::size_t count = std::min(parts.size(), vectors_.size());
    for (std::size_t i = 0; i < count; ++i) {
      vectors_[i] = {.iov_base = const_cast<std::byte*>(parts[i].data()),
                     .iov_len = parts[i].size()};
      bytes_ += parts[i].size();
    }
    header_.msg_iov = vectors_.data();
    header_.msg_iovlen = count;
  }
  msghdr& header() { return header_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::array<iovec, ByteStream::kMaxParts> vectors_;
  msghdr header_{};
  std::size_t bytes_ = 0;
};

}  // namespace

Transfer SocketStream::write(std::span<const ByteView> parts) {
  SystemMessage message(parts);
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(fd_, &message.header(), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return result("sending", sent);
}

Transfer SocketStream::read(std::span<const std::span<std::byte>> parts) {
  SystemMessage message(parts);
  ssize_t got = -1;
  do {
    got = ::recvmsg(fd_, &message.header(), 0);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return {.state = StreamState::kClosed};
  Transfer moved = result("receiving", got);
  moved.was_all = moved.bytes < message.bytes();
  return moved;
}

Transfer SocketStream::result(const char* what, ssize_t moved) {
  if (moved >= 0) return {.state = StreamState::kMoved, .bytes = static_cast<std::size_t>(moved)};
  if (errno == EAGAIN) return {};
  error_ = Status(Code::kPeerLost, Scope::kGroup,
                  std::string(what) + " failed: " + std::strerror(errno));
  return {.state = StreamState::kBroken};
}

}  // namespace paceline
