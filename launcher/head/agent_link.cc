#include "launcher/head/agent_link.h"

namespace paceline::launcher {

void AgentLink::open(Receive receive, Closed closed) {
  forget();
  closed_ = std::move(closed);
  if (!end_)
    return channel_->open(std::move(receive), [this](const Status& why) {
      end_ = why;
      closed_(why);
    });
  tell_ = loop_.after(Duration::zero(), [this] {
    tell_.reset();
    closed_(*end_);
  });
}

void AgentLink::forget() {
  if (tell_) loop_.cancel(*std::exchange(tell_, std::nullopt));
}

}  // namespace paceline::launcher
