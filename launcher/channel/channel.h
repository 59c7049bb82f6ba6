// The seam between the head and an agent: typed messages each way, whatever carries them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <paceline/status.h>

#include "launcher/channel/message_socket.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/channel/remote_stream.h"

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

/// The payload as an In, for `receive`.
template <class In>
Status receive_payload(std::string_view payload, const std::function<void(const In&)>& receive) {
  In message;
  if (!message.ParseFromArray(payload.data(), static_cast<int>(payload.size())) ||
      message.kind_case() == In::KIND_NOT_SET)
    return Status(Code::kInternal, Scope::kPeer, "sent something that is not a message");
  receive(message);
  return Status();
}

/// Over a socket pair; descriptors can go along.
template <class Out, class In>
class SocketChannel final : public Channel<Out, In> {
 public:
  SocketChannel(EventLoop& loop, UniqueFd socket, std::string peer)
      : socket_(loop, std::move(socket), std::move(peer)) {}

  void open(typename Channel<Out, In>::Receive receive,
            typename Channel<Out, In>::Closed closed) override {
    socket_.open([receive = std::move(receive)](
                     std::string_view payload) { return receive_payload<In>(payload, receive); },
                 std::move(closed));
  }
  Status send(const Out& message) override { return socket_.send(message.SerializeAsString()); }
  // NOLINTNEXTLINE(performance-unnecessary-value-param): the move is not seen in a template
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

/// Over a call of gRPC's, to another host. Its last messages are read by a peer that lives, however
/// late: the end of this waits for that, up to `last_words`. Must go before the loop.
template <class Out, class In>
class RemoteChannel final : public Channel<Out, In> {
 public:
  /// `mailbox` may be null where the stream's is kept by somebody else.
  RemoteChannel(std::unique_ptr<Mailbox> mailbox, std::unique_ptr<RemoteStream> stream,
                std::chrono::milliseconds last_words)
      : mailbox_(std::move(mailbox)), stream_(std::move(stream)), last_words_(last_words) {}
  ~RemoteChannel() override {
    stream_->close();
    if (last_words_ > last_words_.zero()) stream_->await_end(last_words_);
  }
  RemoteChannel(const RemoteChannel&) = delete;
  RemoteChannel& operator=(const RemoteChannel&) = delete;

  void open(typename Channel<Out, In>::Receive receive,
            typename Channel<Out, In>::Closed closed) override {
    stream_->open([receive = std::move(receive)](
                      std::string_view payload) { return receive_payload<In>(payload, receive); },
                  std::move(closed));
  }
  Status send(const Out& message) override { return stream_->send(message.SerializeAsString()); }
  std::size_t backlog_bytes() const override { return stream_->backlog_bytes(); }
  void when_drained(std::function<void()> drained) override {
    stream_->when_drained(std::move(drained));
  }
  void set_reading(bool on) override { stream_->set_reading(on); }

 private:
  const std::unique_ptr<Mailbox> mailbox_;
  const std::unique_ptr<RemoteStream> stream_;
  const std::chrono::milliseconds last_words_;
};

}  // namespace paceline::launcher
