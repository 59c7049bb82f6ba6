#include "launcher/channel/remote_stream.h"

#include <utility>

#include "launcher/channel/frame.h"

namespace paceline::launcher {

/// Hands the events to the loop's thread, where they find the stream, or that it has gone.
class RemoteStream::Relay final : public CallEvents, public std::enable_shared_from_this<Relay> {
 public:
  explicit Relay(Mailbox::Sender sender) : sender_(std::move(sender)) {}

  void on_read(std::optional<std::string> message) override {
    post([message = std::move(message)](RemoteStream& stream) { stream.arrived(message); });
  }
  void on_written(bool ok) override {
    post([ok](RemoteStream& stream) { stream.written(ok); });
  }
  void on_ended(const Status& why) override {
    post([why](RemoteStream& stream) { stream.ended(why); });
  }
  void post(std::function<void(RemoteStream&)> event) {
    sender_.post([self = shared_from_this(), event = std::move(event)] {
      if (self->stream_ != nullptr) event(*self->stream_);
    });
  }
  /// The loop's thread.
  void lead_to(RemoteStream* stream) { stream_ = stream; }

 private:
  const Mailbox::Sender sender_;
  RemoteStream* stream_ = nullptr;  // the loop's thread alone
};

std::shared_ptr<RemoteStream::Relay> RemoteStream::make_relay(Mailbox::Sender sender) {
  return std::make_shared<Relay>(std::move(sender));
}

std::shared_ptr<CallEvents> RemoteStream::events_of(const std::shared_ptr<Relay>& relay) {
  return relay;
}

RemoteStream::RemoteStream(std::shared_ptr<Relay> relay, std::shared_ptr<RemoteCall> call,
                           std::string peer)
    : relay_(std::move(relay)), call_(std::move(call)), peer_(std::move(peer)) {
  relay_->lead_to(this);
}

void RemoteStream::open(Receive receive, Closed closed) {
  receive_ = std::move(receive);
  closed_ = std::move(closed);
  set_reading(true);
}

// ---- Reading -------------------------------------------------------------------------------

void RemoteStream::set_reading(bool on) {
  if (state_ == State::kClosed || wanted_ == on) return;
  wanted_ = on;
  // Handlers are called by the loop alone, and not from inside of whoever wants to read again.
  if (on) relay_->post([](RemoteStream& stream) { stream.deliver(); });
}

void RemoteStream::read_more() {
  if (state_ != State::kOpen || reading_ || incoming_bytes_ >= kReadAheadBytes) return;
  reading_ = true;
  call_->read();
}

void RemoteStream::arrived(std::optional<std::string> message) {
  reading_ = false;
  if (!message) return end();
  incoming_bytes_ += message->size();
  incoming_.push_back(*std::move(message));
  deliver();
}

void RemoteStream::deliver() {
  while (wanted_ && state_ != State::kClosed && !incoming_.empty()) {
    const std::string message = std::move(incoming_.front());
    incoming_.pop_front();
    incoming_bytes_ -= message.size();
    if (const Status status = receive_(message); !status.ok()) return fail(status);
  }
  if (state_ == State::kClosed) return;
  read_more();
  if (end_ && incoming_.empty()) fail(*end_);
}

// ---- Writing -------------------------------------------------------------------------------

Status RemoteStream::send(std::string_view payload) {
  if (payload.size() > kMaxFrameBytes) return encode_frame(payload).status();
  if (deaf_) return Status();
  backlog_bytes_ += payload.size();
  outgoing_.emplace_back(payload);
  if (outgoing_.size() == 1) call_->write(outgoing_.front());
  return Status();
}

void RemoteStream::written(bool ok) {
  if (deaf_) return;
  backlog_bytes_ -= outgoing_.front().size();
  outgoing_.pop_front();
  if (!ok) drop_outgoing();  // the reading side is where the end of a call is noticed
  if (!outgoing_.empty()) return call_->write(outgoing_.front());
  if (drained_) drained_();
}

// ---- The end -------------------------------------------------------------------------------

void RemoteStream::end() {
  if (state_ != State::kOpen) return;
  state_ = State::kEnding;
  drop_outgoing();
  call_->finish();
}

void RemoteStream::drop_outgoing() {
  deaf_ = true;
  outgoing_.clear();
  backlog_bytes_ = 0;
}

void RemoteStream::ended(const Status& why) {
  end_ = why;
  deliver();
}

void RemoteStream::close() {
  end();
  state_ = State::kClosed;
  relay_->lead_to(nullptr);
}

void RemoteStream::fail(const Status& why) {
  close();
  closed_(why.with_context(peer_));
}

}  // namespace paceline::launcher
