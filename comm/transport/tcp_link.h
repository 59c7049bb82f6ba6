// The connections between this process and another: one for each direction, made by the process
// that writes, when a group first has something to send, or to receive. So a process that has ended
// is found by the one that waits for it.
//
// Why not one connection for both directions: where both windows are full, an acknowledgement
// carries a number up to a window's unit beyond what the other side will take, and some kernels
// (Linux 6.18) drop it as out of the window, on both sides, for good (TcpExtBeyondWindow). A side
// that only reads has nothing outstanding, and its acknowledgements always lie within.
//
// Either may end first, whatever the other process did first. What it had sent is still read when
// it can be sent nothing more: its last word says why.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "comm/base/random.h"
#include "comm/transport/byte_stream.h"
#include "comm/transport/process_link.h"
#include "comm/transport/tcp_greeting.h"

namespace paceline {

class TcpLink {
 public:
  /// Shared by all links of a port. Everything is borrowed.
  struct Common {
    PollEngine& engine;
    const JobKey& key;
    bool integrity = false;  ///< data is sealed (sealed_stream.h)
    Random random{0};        ///< of pauses
  };
  /// `common` is borrowed. `hello` is said to the other process.
  TcpLink(Common& common, const Hello& hello);
  TcpLink(const TcpLink&) = delete;
  TcpLink& operator=(const TcpLink&) = delete;

  /// Where the other process listens.
  void set_address(const std::string& address) { address_ = address; }
  /// Where the lanes are.
  ProcessLink& groups() { return groups_; }
  /// Is there a connection to write to?
  bool connected() const { return out_.is_open(); }
  /// The number of written bytes that have arrived at the other host.
  std::uint64_t acknowledged() const;

  /// Sends what can be sent at once, or sees to it that there will be a connection.
  void reach();
  /// The other process makes a new connection to write to. If it had one before, that has ended,
  /// and all groups have lost the other process. Called before the other process hears that it is
  /// welcome: once it has heard that, it may send all that it has to say and end, and an end that
  /// is seen then is the end of the new connection.
  void end_former();
  /// Reads from the other process through `fd` from now on; after end_former().
  void accept(UniqueFd fd, const Mac& secret);
  /// Reads what has come, at most once between two calls of drive(). True if anything moved.
  bool look();
  /// Sends and reads what can be; true if anything moved.
  bool drive(TimePoint now);
  TimePoint wake_at() const;

 private:
  // A connection that the engine watches.
  class Line final : private FdHandler {
   public:
    using Ready = bool (TcpLink::*)(std::uint32_t events);
    Line(TcpLink& link, Ready ready, PollEngine::Interest interest)
        : link_(link), ready_(ready), interest_(interest) {}
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
    bool on_ready(std::uint32_t events) override { return (link_.*ready_)(events); }

    TcpLink& link_;
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

  std::unique_ptr<ByteStream> stream_over(const UniqueFd& fd, const Mac& secret) const;
  /// Should it be dialed where something is to be sent?
  bool is_undialed() const {
    return !connected() && out_end_.ok() && dial_ == nullptr && redial_at_ == TimePoint::max();
  }
  bool drive_dial(TimePoint now);
  void redial_or_end(TimePoint now);
  bool has_to_send() const { return groups_.has_to_send() || out_.stream().has_unsent(); }
  bool flush();
  bool out_is_ready(std::uint32_t events);
  bool in_is_ready(std::uint32_t events);
  bool look_at_out();
  bool read();
  void wait_for_large_pieces();
  bool wait_for_the_end(TimePoint now, bool heard);
  void end_sending(const Status& why);
  void lose(const Status& why);

  Common& common_;
  const Hello hello_;
  std::string address_;
  ProcessLink groups_;
  std::unique_ptr<TcpDial> dial_;  // while it is being tried
  TimePoint redial_at_ = TimePoint::max();
  TimePoint dial_until_ = TimePoint::max();  // set once a connection has ended in its greeting
  Line out_;
  Line in_;
  bool readable_ = false;
  bool has_looked_ = false;  // since drive()
  bool in_ends_ = false;     // behind what is still to be read
  Rest writing_rest_, reading_rest_;
  std::size_t least_readable_ = 1;        // bytes that in_ waits for
  Status out_end_;                        // why nothing can be sent any more
  TimePoint ends_at_ = TimePoint::max();  // the latest, after out_end_
};

}  // namespace paceline
