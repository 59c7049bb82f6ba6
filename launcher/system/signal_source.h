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

/// From now until reset_signals(), signals to this thread and to threads and processes that it
/// starts stay pending for a SignalSource.
void block_signals(const std::vector<int>& signals);

/// SIGINT, SIGTERM and SIGHUP: signals that ask a job to end. SIGHUP is left out if it is ignored
/// at the start, as under nohup. SIGINT is not left out: a shell ignores it for background jobs,
/// but a user may still send it to the job.
std::vector<int> ending_signals();
/// The signals among `signals` that this process does not ignore.
std::vector<int> heeded(const std::vector<int>& signals);

/// Signals that may be sent to all processes of a job as a notice to its ranks, for example that
/// their time is nearly over: SIGUSR1, SIGUSR2, timers, limits and real-time signals.
std::vector<int> warning_signals();
/// Every signal that ends a process by default and comes from outside. Excluded are faults of the
/// process itself, SIGPIPE and SIGCHLD.
std::vector<int> signals_from_outside();

/// From now on a file that would become longer than `ulimit -f` makes write(2) fail, and does not
/// end this process (SIGXFSZ).
void outlive_file_limit();

/// Ends this process as the signal does by default.
[[noreturn]] void end_by(int signal);

/// "SIGTERM".
std::string signal_name(int signal);

/// Blocks the signals in this thread permanently, and calls the handler once for each that comes.
/// Fork processes that must not inherit the mask before.
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
