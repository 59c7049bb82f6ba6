// Signals as events of a loop.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Blocks the signals of this thread for good and calls the handler once for each that comes.
/// Fork first what should not inherit the mask.
class SignalSource {
 public:
  static Result<std::unique_ptr<SignalSource>> watch(EventLoop& loop,
                                                     const std::vector<int>& signals,
                                                     std::function<void(int signal)> handler);
  ~SignalSource() { loop_.forget_readable(fd_.get()); }
  SignalSource(const SignalSource&) = delete;
  SignalSource& operator=(const SignalSource&) = delete;

 private:
  SignalSource(EventLoop& loop, UniqueFd fd) : loop_(loop), fd_(std::move(fd)) {}

  EventLoop& loop_;
  UniqueFd fd_;
};

}  // namespace paceline::launcher
