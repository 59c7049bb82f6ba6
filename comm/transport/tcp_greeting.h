// The first bytes of a TCP connection on the dialing side: connecting, and proving the job's key.
// The accepting side is comm/listener.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "comm/handshake.h"
#include "comm/poll_engine.h"
#include "comm/socket.h"

namespace paceline {

enum class GreetingState {
  kPending,
  kReady,   ///< accepted
  kFailed,  ///< error() says why
};

/// A descriptor that the engine watches, with bytes that come and go in fixed amounts.
class GreetingSocket final : private FdHandler {
 public:
  GreetingSocket(PollEngine& engine, UniqueFd fd);
  ~GreetingSocket();
  GreetingSocket(const GreetingSocket&) = delete;
  GreetingSocket& operator=(const GreetingSocket&) = delete;

  int fd() const { return fd_.get(); }
  const Status& watched() const { return watched_; }
  /// Has the engine reported the descriptor since the last call? At first, yes. Where not, there is
  /// nothing to be done: no system call is worth it.
  bool take_report() { return std::exchange(reported_, false); }
  void queue(ByteView bytes) { outgoing_.insert(outgoing_.end(), bytes.begin(), bytes.end()); }
  /// Sends what is queued and reads up to `count` bytes in all; never a byte beyond. True when
  /// both are done.
  Result<bool> exchange(std::size_t count);
  ByteView received() const { return incoming_; }
  void clear_received() { incoming_.clear(); }
  /// The descriptor, no longer watched.
  UniqueFd release();

 private:
  bool on_ready(std::uint32_t) override { return reported_ = true; }

  PollEngine& engine_;
  UniqueFd fd_;
  bool reported_ = true;
  Status watched_;
  Bytes incoming_;
  Bytes outgoing_;
};

class TcpDial {
 public:
  /// The key and the engine are borrowed.
  TcpDial(PollEngine& engine, const JobKey& key, const Hello& hello, std::string address);

  /// What can be done without blocking.
  GreetingState drive();
  const Status& error() const { return error_; }
  /// True if the peer closed the connection during the handshake. It may have had too many
  /// unauthenticated connections, so another try is worth it.
  bool hung_up() const { return hung_up_; }
  UniqueFd release() { return socket_->release(); }
  /// After kReady.
  Mac secret() const { return handshake_->secret(); }

 private:
  enum class Stage { kConnecting, kChallenge, kWelcome };
  Status start(PollEngine& engine);
  GreetingState step();
  GreetingState fail(const Status& error);
  GreetingState answer();
  GreetingState finish();

  const std::string address_;
  Stage stage_ = Stage::kConnecting;
  std::optional<SocketAddress> parsed_;
  std::optional<DialerHandshake> handshake_;
  std::optional<GreetingSocket> socket_;
  Status error_;
  bool hung_up_ = false;
};

}  // namespace paceline
