#include "launcher/head/job_signals.h"

#include <signal.h>

#include "launcher/system/complain.h"
#include "launcher/system/exit_status.h"
#include "launcher/system/signal_source.h"

namespace paceline::launcher {
namespace {

bool ends_jobs(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

// Without a head, a signal that ends jobs ends what the launcher waits for. Other signals have no
// ranks to go to.
void signalled_without_head(const SignalCame& came, SignalTarget& target, EventLoop& loop) {
  const int signal = came.signal;
  if (signal == SIGTSTP) ::raise(SIGSTOP);
  if (signal == SIGQUIT) end_by(signal);
  if (!ends_jobs(signal)) return;
  const bool is_ending = target.early != 0;
  const auto meaning = target.requests.came(signal, loop.clock().now(), is_ending);
  if (target.leaving && meaning == EndRequests::Meaning::kNothing) return;
  loop.stop();
  if (is_ending || target.leaving) return;
  target.early = signal;
  complain((came.why.empty() ? signal_name(signal) + " came" : came.why) +
           ": the job does not start. The same signal again ends paceline at once");
}

}  // namespace

std::vector<int> signals_to_heed() {
  std::vector<int> signals = ending_signals();
  for (const std::vector<int>& others :
       {heeded({SIGTSTP, SIGCONT, SIGWINCH, SIGQUIT}), heeded(warning_signals())})
    signals.insert(signals.end(), others.begin(), others.end());
  return signals;
}

void signalled(int signal, SignalTarget& target, EventLoop& loop) {
  if (target.head != nullptr) return target.head->signalled(signal);
  signalled_without_head({.signal = signal}, target, loop);
}

Status asked(const SignalCame& came, SignalTarget& target, EventLoop& loop) {
  if (target.head != nullptr) {
    target.head->asked(came);
    return Status();
  }
  if (!ends_jobs(came.signal))
    return Status(Code::kUnavailable, Scope::kOperation,
                  "the job has no ranks yet that could get the signal");
  signalled_without_head(came, target, loop);
  return Status();
}

}  // namespace paceline::launcher
