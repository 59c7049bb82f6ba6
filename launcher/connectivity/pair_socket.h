// A connection between two agents: bytes that come and go in fixed amounts, without blocking.
#pragma once

#include <cstddef>
#include <functional>

#include "comm/base/unique_fd.h"
#include "comm/bytes.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Belongs to the loop's thread.
class PairSocket {
 public:
  enum class Progress { kPending, kWhole, kEnded };

  /// Calls `ready` whenever something may be done; it may destroy this.
  PairSocket(EventLoop& loop, UniqueFd fd, std::function<void()> ready);
  ~PairSocket();
  PairSocket(const PairSocket&) = delete;
  PairSocket& operator=(const PairSocket&) = delete;

  int fd() const { return fd_.get(); }
  void queue(ByteView bytes) { outgoing_.insert(outgoing_.end(), bytes.begin(), bytes.end()); }
  /// Sends what is queued as far as that goes, so that what is queued next does not share a packet
  /// with it. False if the connection has ended.
  bool flush();
  /// Sends what is queued and reads up to `count` bytes in all; never a byte beyond. Whole when
  /// both are done.
  Progress exchange(std::size_t count);
  ByteView received() const { return incoming_; }
  void clear_received() { incoming_.clear(); }
  /// Whether the other side's kernel has yet to say that it has all that was queued.
  bool has_unacknowledged() const;

 private:
  bool receive_some(std::size_t count);

  EventLoop& loop_;
  const UniqueFd fd_;
  const std::function<void()> ready_;
  Bytes outgoing_;
  std::size_t sent_ = 0;
  Bytes incoming_;
};

}  // namespace paceline::launcher
