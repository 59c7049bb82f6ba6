// Frames, and descriptors beside them, over one end of a Unix stream socket pair.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"
#include "launcher/channel/frame.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Sending never blocks: what the socket does not take is queued. The queue has no bound of its
/// own; a sender of bulk data stops at its limit of backlog_bytes() until it is told that the
/// queue has drained. Belongs to the loop's thread and must outlive the loop's run.
class MessageSocket {
 public:
  /// Gets each payload. An error ends the connection.
  using Receive = std::function<Status(std::string_view payload)>;
  /// Called once, when the peer has gone (ok) or the connection has become useless.
  using Closed = std::function<void(const Status& why)>;

  /// `peer` is its name in error texts.
  MessageSocket(EventLoop& loop, UniqueFd socket, std::string peer);
  ~MessageSocket() { close(); }
  MessageSocket(const MessageSocket&) = delete;
  MessageSocket& operator=(const MessageSocket&) = delete;

  void open(Receive receive, Closed closed);
  /// Queues a frame. What is sent to a peer that has gone is dropped: closed() tells of it.
  Status send(std::string_view payload, std::vector<UniqueFd> descriptors = {});
  /// Closes this end; closed() is not called.
  void close();

  std::size_t backlog_bytes() const { return backlog_bytes_; }
  /// Calls `drained` whenever the queue has become empty.
  void when_drained(std::function<void()> drained) { drained_ = std::move(drained); }
  /// Reading stops and goes on; what arrives in between stays with the kernel, so the sender
  /// comes to a halt.
  void set_reading(bool on);

  /// The next of the descriptors that came, in the order in which they were sent.
  Result<UniqueFd> take_descriptor();

 private:
  struct Packet {
    std::string bytes;
    std::vector<UniqueFd> descriptors;  // go with the first of the bytes
    std::size_t sent = 0;
  };

  void read_some();
  Status deliver();
  void fail(const Status& why);
  void flush();
  bool send_front();

  EventLoop& loop_;
  UniqueFd socket_;
  std::string peer_;
  Receive receive_;
  Closed closed_;
  std::function<void()> drained_;
  FrameDecoder decoder_;
  std::deque<UniqueFd> received_;
  std::deque<Packet> queue_;
  std::size_t backlog_bytes_ = 0;
  bool reading_ = false;
};

}  // namespace paceline::launcher
