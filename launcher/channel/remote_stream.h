// Messages over a RemoteCall, as the thread of a loop sees them: what MessageSocket is for a
// socket pair.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <paceline/status.h>

#include "launcher/channel/remote_call.h"
#include "launcher/system/mailbox.h"

namespace paceline::launcher {

/// Sending never blocks and the queue has no bound of its own, as with MessageSocket. What has been
/// read and not been received yet is at most kReadAheadBytes and one message. Belongs to the loop's
/// thread and must go before the mailbox.
class RemoteStream {
 public:
  using Receive = std::function<Status(std::string_view payload)>;
  using Closed = std::function<void(const Status& why)>;
  class Relay;

  static constexpr std::size_t kReadAheadBytes = std::size_t{256} << 10;

  /// A call's events, on their way to a stream that does not exist yet. Any thread.
  static std::shared_ptr<Relay> make_relay(Mailbox::Sender sender);
  static std::shared_ptr<CallEvents> events_of(const std::shared_ptr<Relay>& relay);

  /// `peer` is its name in error texts.
  RemoteStream(std::shared_ptr<Relay> relay, std::shared_ptr<RemoteCall> call, std::string peer);
  ~RemoteStream() { close(); }
  RemoteStream(const RemoteStream&) = delete;
  RemoteStream& operator=(const RemoteStream&) = delete;

  void open(Receive receive, Closed closed);
  Status send(std::string_view payload);
  /// Closes this end; closed() is not called. What has been sent and not been written is dropped.
  void close();
  std::size_t backlog_bytes() const { return backlog_bytes_; }
  void when_drained(std::function<void()> drained) { drained_ = std::move(drained); }
  void set_reading(bool on);
  /// After close(): blocks until the peer has ended the call, too.
  void await_end(std::chrono::milliseconds patience) { call_->await_end(patience); }

 private:
  enum class State { kOpen, kEnding, kClosed };

  void arrived(std::optional<std::string> message);
  void written(bool ok);
  void ended(const Status& why);
  void read_more();
  void deliver();
  void end();
  void drop_outgoing();
  void fail(const Status& why);

  const std::shared_ptr<Relay> relay_;      // owners: this, the call, events under way
  const std::shared_ptr<RemoteCall> call_;  // owners: this, and itself while it lasts
  const std::string peer_;
  Receive receive_;
  Closed closed_;
  std::function<void()> drained_;
  std::deque<std::string> outgoing_;  // the first is being written
  std::size_t backlog_bytes_ = 0;
  std::deque<std::string> incoming_;
  std::size_t incoming_bytes_ = 0;
  std::optional<Status> end_;  // the call's, which the handler hears after the last message
  State state_ = State::kOpen;
  bool deaf_ = false;     // the peer gets nothing more
  bool wanted_ = false;   // by whoever receives
  bool reading_ = false;  // the call has been asked
};

}  // namespace paceline::launcher
