// The head's end of the channel to an agent, from its greeting to its end, while one part of the
// head after another listens: tests of connections, the survey of machines, the running job.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "launcher/channel/channel.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Belongs to the loop's thread, and goes before the loop.
class AgentLink final : public AgentChannel {
 public:
  AgentLink(EventLoop& loop, std::unique_ptr<AgentChannel> channel)
      : loop_(loop), channel_(std::move(channel)) {}
  ~AgentLink() override { forget(); }
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;

  /// From now on these handlers listen instead of those before. If the channel has ended meanwhile,
  /// the loop tells `closed`, too.
  void open(Receive receive, Closed closed) override;
  Status send(const messages::ToAgent& message) override { return channel_->send(message); }
  std::size_t backlog_bytes() const override { return channel_->backlog_bytes(); }
  void when_drained(std::function<void()> drained) override {
    channel_->when_drained(std::move(drained));
  }
  void set_reading(bool on) override { channel_->set_reading(on); }

 private:
  void forget();

  EventLoop& loop_;
  const std::unique_ptr<AgentChannel> channel_;
  Closed closed_;
  std::optional<Status> end_;               // once the channel has ended
  std::optional<EventLoop::TimerId> tell_;  // a new listener of it
};

/// For a listener that goes: messages are dropped until somebody else listens.
inline void stop_listening(AgentChannel& channel) {
  channel.open([](const messages::FromAgent&) {}, [](const Status&) {});
}

}  // namespace paceline::launcher
