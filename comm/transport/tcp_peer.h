// One peer as the TCP transport sees it: the connection that it is written to, the one that it is
// read from, and what waits for them.
//
// Either may end first, whatever the peer did first. What the peer had sent is still read when it
// can be sent nothing more: its last word says why.
#pragma once

#include <cstdint>
#include <memory>

#include "comm/transport/byte_stream.h"
#include "comm/transport/stream_inbox.h"
#include "comm/transport/stream_outbox.h"
#include "comm/transport/tcp_greeting.h"

namespace paceline {

class TcpPeer {
 public:
  TcpPeer(PollEngine& engine, Culprit who);
  TcpPeer(const TcpPeer&) = delete;
  TcpPeer& operator=(const TcpPeer&) = delete;

  /// Is there a connection to write to?
  bool connected() const { return out_.is_open(); }
  /// Is there one to read from?
  bool is_heard() const { return in_.is_open(); }
  bool lost() const { return !loss_.ok(); }
  const Status& loss() const { return loss_; }
  /// Should it be dialed where something is to be sent to it, or is to come from it?
  bool is_undialed() const {
    return !connected() && !lost() && out_end_.ok() && dial == nullptr &&
           redial_at == TimePoint::max();
  }

  /// Does something wait to be sent, or a connection to be made?
  bool has_work() const {
    return !lost() &&
           (dial != nullptr || redial_at != TimePoint::max() || (connected() && has_to_send()));
  }
  /// Does a control message wait to be sent, or a last word for the acknowledgement of its arrival?
  bool is_telling() const;

  /// From now on it is written to through `stream`, which uses `fd`.
  void write_to(UniqueFd fd, std::unique_ptr<ByteStream> stream);
  /// From now on it is read from through `stream`, which uses `fd`.
  void read_from(UniqueFd fd, std::unique_ptr<ByteStream> stream);
  /// Sends what can be sent; true if anything moved.
  bool flush();
  /// Sends and reads what can be; true if anything moved.
  bool drive(TimePoint now);
  TimePoint wake_at() const;
  /// Nothing can be sent any more. It is lost once what it has sent has been read to its end.
  void end_sending(const Status& why);
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
  // A connection that the engine watches.
  class Line final : private FdHandler {
   public:
    using Ready = bool (TcpPeer::*)(std::uint32_t events);
    Line(TcpPeer& peer, Ready ready, PollEngine::Interest interest)
        : peer_(peer), ready_(ready), interest_(interest) {}
    ~Line() { close(); }
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    bool is_open() const { return static_cast<bool>(fd_); }
    int fd() const { return fd_.get(); }
    ByteStream& stream() { return *stream_; }
    const ByteStream& stream() const { return *stream_; }
    Status open(UniqueFd fd, std::unique_ptr<ByteStream> stream);
    void close();

   private:
    bool on_ready(std::uint32_t events) override { return (peer_.*ready_)(events); }

    TcpPeer& peer_;
    const Ready ready_;
    const PollEngine::Interest interest_;
    UniqueFd fd_;
    std::unique_ptr<ByteStream> stream_;
  };

  // From when the socket was found full, or empty, until the engine reports it. As the engine looks
  // at descriptors only now and then, it is tried again after so many rounds in any case.
  class Rest {
   public:
    void begin() { rounds_ = kRounds; }
    void end() { rounds_ = 0; }
    /// Once a round.
    bool is_over() { return rounds_ == 0 || --rounds_ == 0; }

   private:
    static constexpr int kRounds = 64;
    int rounds_ = 0;
  };

  bool has_to_send() const { return !outbox.empty() || out_.stream().has_unsent(); }
  bool out_is_ready(std::uint32_t events);
  bool in_is_ready(std::uint32_t events);
  bool look_at_out();
  bool drive_inbox();
  void wait_for_large_pieces();
  bool wait_for_the_end(TimePoint now, bool heard);

  PollEngine& engine_;
  const Culprit who_;
  Line out_;
  Line in_;
  bool readable_ = false;
  bool in_ends_ = false;  // behind what is still to be read
  Rest writing_rest_, reading_rest_;
  std::size_t least_readable_ = 1;        // bytes that in_ waits for
  Status out_end_;                        // why nothing can be sent any more
  TimePoint ends_at_ = TimePoint::max();  // the latest, after out_end_
  Status loss_;
};

}  // namespace paceline
