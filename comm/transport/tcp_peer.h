// One peer as the TCP transport sees it: the connection, if there is one, and what waits for it.
#pragma once

#include <memory>
#include <optional>

#include "comm/transport/stream_inbox.h"
#include "comm/transport/stream_outbox.h"
#include "comm/transport/tcp_greeting.h"

namespace paceline {

class TcpPeer final : private FdHandler {
 public:
  TcpPeer(PollEngine& engine, Culprit who) : engine_(engine), who_(std::move(who)) {}
  ~TcpPeer() { disconnect(); }
  TcpPeer(const TcpPeer&) = delete;
  TcpPeer& operator=(const TcpPeer&) = delete;

  bool connected() const { return static_cast<bool>(fd_); }
  bool lost() const { return !loss_.ok(); }
  const Status& loss() const { return loss_; }

  /// Does a control message wait to be sent, or a last word for the acknowledgement of its arrival?
  /// A close before that may become a reset, which takes along what has not arrived, data that
  /// this rank has long seen off included.
  bool is_telling() const;

  /// From now on `fd` is the connection.
  void adopt(UniqueFd fd);
  /// Sends what can be sent; true if anything moved.
  bool flush();
  /// Sends and reads what can be; true if anything moved.
  bool drive();
  /// Ends what is pending and refuses what comes, with `why` and the peer's name.
  void lose(const Status& why);
  /// Ends data requests and throws away what comes for them; control messages still go both ways.
  void abort(const Status& why);

  StreamOutbox outbox;
  StreamInbox inbox;
  std::unique_ptr<TcpDial> dial;  // while it is being tried
  TimePoint redial_at = TimePoint::max();
  TimePoint dial_until = TimePoint::max();  // set once a connection has ended in its greeting

 private:
  bool on_ready(std::uint32_t events) override;
  bool drive_inbox();
  void disconnect();

  PollEngine& engine_;
  const Culprit who_;
  UniqueFd fd_;
  bool readable_ = false;
  Status loss_;
};

}  // namespace paceline
