// The seam between the head and an agent: typed messages each way, whatever carries them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <paceline/status.h>

#include "launcher/channel/message_socket.h"
#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// One end. Handlers are called by the thread of the end's loop, one at a time.
template <class Out, class In>
class Channel {
 public:
  using Receive = std::function<void(const In&)>;
  using Closed = std::function<void(const Status& why)>;

  virtual ~Channel() = default;
  /// Starts to receive. closed() comes once: ok when the peer has gone, else what was wrong.
  virtual void open(Receive receive, Closed closed) = 0;
  /// Never blocks. An error only for a message that can never be sent.
  virtual Status send(const Out& message) = 0;
  virtual std::size_t backlog_bytes() const = 0;
  /// Calls `drained` whenever the backlog has gone.
  virtual void when_drained(std::function<void()> drained) = 0;
  /// While off, the peer's messages wait, and so in the end does the peer.
  virtual void set_reading(bool on) = 0;
};

using AgentChannel = Channel<messages::ToAgent, messages::FromAgent>;  ///< the head's end
using HeadChannel = Channel<messages::FromAgent, messages::ToAgent>;   ///< the agent's end

/// Over a socket pair; descriptors can go along.
template <class Out, class In>
class SocketChannel final : public Channel<Out, In> {
 public:
  SocketChannel(EventLoop& loop, UniqueFd socket, std::string peer)
      : socket_(loop, std::move(socket), std::move(peer)) {}

  void open(typename Channel<Out, In>::Receive receive,
            typename Channel<Out, In>::Closed closed) override {
    socket_.open(
        [receive = std::move(receive)](std::string_view payload) {
          In message;
          if (!message.ParseFromArray(payload.data(), static_cast<int>(payload.size())) ||
              message.kind_case() == In::KIND_NOT_SET)
            return Status(Code::kInternal, Scope::kPeer, "sent something that is not a message");
          receive(message);
          return Status();
        },
        std::move(closed));
  }
  Status send(const Out& message) override { return socket_.send(message.SerializeAsString()); }
  Status send(const Out& message, std::vector<UniqueFd> descriptors) {
    return socket_.send(message.SerializeAsString(), std::move(descriptors));
  }
  Result<UniqueFd> take_descriptor() { return socket_.take_descriptor(); }
  std::size_t backlog_bytes() const override { return socket_.backlog_bytes(); }
  void when_drained(std::function<void()> drained) override {
    socket_.when_drained(std::move(drained));
  }
  void set_reading(bool on) override { socket_.set_reading(on); }
  void close() { socket_.close(); }

 private:
  MessageSocket socket_;
};

}  // namespace paceline::launcher
