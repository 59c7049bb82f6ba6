// Signals as events of a loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// In this thread, and in what it starts from here on, until reset_signals(): signals that come
/// wait for a SignalSource.
void block_signals(const std::vector<int>& signals);

/// SIGINT, SIGTERM and SIGHUP: what asks a job to end. What is ignored from the start stays so:
/// nohup makes a job ignore SIGHUP. But a shell that ignores SIGINT for its background jobs does
/// not keep anybody from sending it.
std::vector<int> ending_signals();
/// Those of them that this process does not ignore.
std::vector<int> heeded(const std::vector<int>& signals);

/// Those that somebody may send to all processes of a job to tell its ranks something, such as that
/// their time is nearly over: SIGUSR1, SIGUSR2, timers, limits and real-time signals.
std::vector<int> warning_signals();
/// Every signal that ends a process by default and comes from outside: not the faults of the
/// process itself, and not SIGPIPE and SIGCHLD.
std::vector<int> signals_from_outside();

/// "SIGTERM".
std::string signal_name(int signal);

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
