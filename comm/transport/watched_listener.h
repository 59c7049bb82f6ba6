// A Listener that a PollEngine watches. While nothing has come, drive() only compares times, since
// engines drive in a loop.
#pragma once

#include <memory>
#include <utility>

#include <paceline/status.h>

#include "comm/base/try.h"
#include "comm/listener.h"
#include "comm/poll_engine.h"

namespace paceline {

/// Everything with the baton held.
class WatchedListener final : private FdHandler {
 public:
  /// The engine is borrowed.
  static Result<std::unique_ptr<WatchedListener>> create(PollEngine& engine,
                                                         std::unique_ptr<Listener> listener) {
    std::unique_ptr<WatchedListener> watched(new WatchedListener(engine, std::move(listener)));
    PACELINE_TRY(engine.watch(watched->listener_->fd(), *watched, PollEngine::Interest::kToRead));
    return watched;
  }
  ~WatchedListener() { engine_.forget(listener_->fd(), *this); }
  WatchedListener(const WatchedListener&) = delete;
  WatchedListener& operator=(const WatchedListener&) = delete;

  bool drive(TimePoint now) {
    const bool due = std::exchange(is_reported_, false) || now >= listener_->wake_at();
    return due && listener_->drive(now);
  }
  TimePoint wake_at() const { return listener_->wake_at(); }
  const Listener& listener() const { return *listener_; }

 private:
  WatchedListener(PollEngine& engine, std::unique_ptr<Listener> listener)
      : engine_(engine), listener_(std::move(listener)) {}
  bool on_ready(std::uint32_t) override { return is_reported_ = true; }

  PollEngine& engine_;
  const std::unique_ptr<Listener> listener_;
  bool is_reported_ = false;
};

}  // namespace paceline
