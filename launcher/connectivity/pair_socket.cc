#include "launcher/connectivity/pair_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace paceline::launcher {
namespace {

constexpr std::size_t kReadBytes = 16384;

bool would_block(ssize_t result) { return result < 0 && (errno == EAGAIN || errno == EINTR); }

}  // namespace

PairSocket::PairSocket(EventLoop& loop, UniqueFd fd, std::function<void()> ready)
    : loop_(loop), fd_(std::move(fd)), ready_(std::move(ready)) {
  loop_.when_readable(fd_.get(), ready_);
  loop_.when_writable(fd_.get(), ready_);  // until there is nothing to be sent
}

PairSocket::~PairSocket() {
  loop_.forget_readable(fd_.get());
  loop_.forget_writable(fd_.get());
}

PairSocket::Progress PairSocket::exchange(std::size_t count) {
  if (!flush() || !receive_some(count)) return Progress::kEnded;
  const bool all_sent = sent_ == outgoing_.size();
  if (all_sent)
    loop_.forget_writable(fd_.get());
  else
    loop_.when_writable(fd_.get(), ready_);
  return all_sent && incoming_.size() >= count ? Progress::kWhole : Progress::kPending;
}

bool PairSocket::flush() {
  while (sent_ < outgoing_.size()) {
    const ssize_t sent =
        ::send(fd_.get(), outgoing_.data() + sent_, outgoing_.size() - sent_, MSG_NOSIGNAL);
    if (would_block(sent)) return true;
    if (sent <= 0) return false;
    sent_ += static_cast<std::size_t>(sent);
  }
  return true;
}

bool PairSocket::receive_some(std::size_t count) {
  std::array<std::byte, kReadBytes> bytes;
  while (incoming_.size() < count) {
    const std::size_t room = std::min(count - incoming_.size(), bytes.size());
    const ssize_t got = ::recv(fd_.get(), bytes.data(), room, 0);
    if (would_block(got)) return true;
    if (got <= 0) return false;
    incoming_.insert(incoming_.end(), bytes.begin(), bytes.begin() + got);
  }
  return true;
}

bool PairSocket::has_unacknowledged() const {
  int left = 0;
  return ::ioctl(fd_.get(), SIOCOUTQ, &left) == 0 && left > 0;
}

}  // namespace paceline::launcher
