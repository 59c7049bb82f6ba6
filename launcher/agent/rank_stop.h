// Stops the ranks of a host on a request of the head, or on a signal to the agent.
#pragma once

#include <functional>
#include <memory>

#include <paceline/status.h>

#include "launcher/channel/messages.pb.h"
#include "launcher/system/end_requests.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/signal_source.h"
#include "launcher/system/timer_group.h"

namespace paceline::launcher {

/// Called before the agent forks its first process. So no process of the launcher on this host ends
/// by a signal that a resource manager sends to all processes of a job. Ranks do (reset_signals()).
void outlive_signals();

/// A resource manager that ends a job sends signals to its agents. The ranks then get that signal
/// and their grace period at once. The head is told, and ends the whole job.
///
/// A signal that can be caught goes to the main process of each rank, which may need the processes
/// that it has started until it has saved its state. When the main process has ended, or half of
/// the grace has passed, the rest of its group gets SIGTERM. At the end of the grace the whole
/// group gets SIGKILL. Belongs to the loop's thread.
class RankStop {
 public:
  struct Handlers {
    std::function<void(const messages::SignalRanks& order)> signal_ranks;
    std::function<void(const messages::FromAgent& message)> tell;
  };

  RankStop(EventLoop& loop, Handlers handlers)
      : loop_(loop), handlers_(std::move(handlers)), timers_(loop) {}

  /// Handles signals to this process from now on, including those that came since
  /// outlive_signals().
  Status watch();
  /// Called before ranks start, for each start: a stop of earlier ranks is over. False if the agent
  /// was already asked to end: then no ranks may start. `signals_groups`: every signal goes to the
  /// whole group, and nothing of a group is left when its main process ends.
  bool begin(Duration grace, bool signals_groups);
  bool is_ending() const { return is_ending_; }
  /// Handles a stop from the head. A signal that the ranks have already got from here is not
  /// repeated.
  void order(const messages::Stop& stop);
  /// Passes on a signal that does not end the job.
  void pass_on(int signal);

 private:
  void came(int signal);
  void end_ranks(int signal, Duration grace);
  messages::Reach reach_of(int signal) const;
  void send(int signal, messages::Reach reach, bool spares_rest = false);
  void tell_head(int signal);

  EventLoop& loop_;
  const Handlers handlers_;
  std::unique_ptr<SignalSource> source_;
  EndRequests requests_;
  TimerGroup timers_;  // of signals that are still to be sent
  Duration grace_{};
  bool signals_groups_ = false;
  bool has_ranks_ = false;
  bool is_ending_ = false;
  int asked_by_ = 0;   // the first signal to the agent; 0: none
  int passed_on_ = 0;  // the signal that the ranks got from here, until the head orders it
};

}  // namespace paceline::launcher
