// A client that speaks the store's bytes by hand, well or ill. Blocking, with a bound on each call;
// a process that is stopped and goes on has its calls interrupted, and they begin again.
#pragma once

#include <cerrno>
#include <optional>

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "comm/base/random.h"
#include "comm/handshake.h"
#include "comm/socket.h"
#include "comm/store_wire.h"

namespace paceline::testing {

class RawConnection {
 public:
  explicit RawConnection(const SocketAddress& address)
      : fd_(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    connected_ = TEMP_FAILURE_RETRY(::connect(fd_.get(), address.data(), address.size())) == 0;
  }

  bool connected() const { return connected_; }
  int fd() const { return fd_.get(); }

  /// False when the other side has hung up or does not read.
  bool send(ByteView bytes) {
    while (!bytes.empty()) {
      const ssize_t sent =
          TEMP_FAILURE_RETRY(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
      if (sent <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return true;
  }
  bool send(const StoreFrame& frame) {
    Bytes bytes;
    append_frame(frame, bytes);
    return send(bytes);
  }

  /// `count` bytes, or fewer when the other side has hung up or says nothing.
  Bytes receive(std::size_t count) {
    Bytes bytes(count);
    std::size_t got = 0;
    while (got < count) {
      const ssize_t more =
          TEMP_FAILURE_RETRY(::recv(fd_.get(), bytes.data() + got, count - got, 0));
      if (more <= 0) break;
      got += static_cast<std::size_t>(more);
    }
    bytes.resize(got);
    return bytes;
  }
  std::optional<StoreFrame> receive_frame() {
    Bytes bytes = receive(4);
    if (bytes.size() < 4) return std::nullopt;
    const Bytes body = receive(ByteReader(bytes).get<std::uint32_t>());
    bytes.insert(bytes.end(), body.begin(), body.end());
    ByteView view = bytes;
    return take_frame(view).value();
  }
  /// Has the other side hung up, after whatever else it said?
  bool ends() {
    std::byte buffer[4096];
    ssize_t got = 1;
    while (got > 0) got = TEMP_FAILURE_RETRY(::recv(fd_.get(), buffer, sizeof buffer, 0));
    return got == 0 || errno == ECONNRESET;
  }

  /// Proves `key` for `purpose`; nothing when the other side did not accept it.
  std::optional<Verdict> prove(const JobKey& key, Purpose purpose = Purpose::kStore) {
    DialerHandshake::Nonce nonce;
    if (!fill_system_random(nonce).ok()) return std::nullopt;
    DialerHandshake dialer(key, {.purpose = purpose}, nonce);
    const Result<Bytes> hello = dialer.answer(receive(kChallengeBytes));
    if (!hello.ok() || !send(*hello)) return std::nullopt;
    const Result<Verdict> verdict = dialer.read_welcome(receive(kWelcomeBytes));
    return verdict.ok() ? std::optional(*verdict) : std::nullopt;
  }

 private:
  UniqueFd fd_;
  bool connected_ = false;
};

}  // namespace paceline::testing
