// The first bytes of a TCP connection, on either side: connecting, and proving the job's key.
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
  kReady,   ///< dialer: accepted; acceptor: a good hello has come
  kFailed,  ///< error() says why
};

/// A descriptor that the engine watches, with bytes that come and go in fixed amounts.
class GreetingSocket final : private FdHandler {
 public:
  /// `stirred`, borrowed and possibly null, becomes true whenever the engine reports the
  /// descriptor.
  GreetingSocket(PollEngine& engine, UniqueFd fd, bool* stirred = nullptr);
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
  bool on_ready(std::uint32_t) override;

  PollEngine& engine_;
  UniqueFd fd_;
  bool* const stirred_;
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
  /// True if the peer hung up during the greeting: there may have been too many at its door, so
  /// another try is worth it.
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

class TcpArrival {
 public:
  /// Engine, key and `stirred` (see GreetingSocket) are borrowed.
  TcpArrival(PollEngine& engine, const JobKey& key, const AcceptorHandshake::Nonce& nonce,
             UniqueFd fd, bool& stirred);

  /// What can be done without blocking; nothing unless the engine has reported the descriptor.
  GreetingState drive();
  /// The same, also where the engine has not come to report it.
  GreetingState look();
  const Status& error() const { return error_; }
  bool said_nothing() const { return socket_.received().empty(); }
  /// After kReady.
  const Hello& hello() const { return *hello_; }
  Mac secret() const { return handshake_.secret(); }
  /// Accepts; the descriptor is the caller's if that worked.
  Result<UniqueFd> welcome();
  /// Tells the dialer why it is not accepted.
  void decline(Verdict why);

 private:
  AcceptorHandshake handshake_;
  GreetingSocket socket_;
  std::optional<Hello> hello_;
  Status error_;
};

}  // namespace paceline
