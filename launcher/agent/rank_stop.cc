// Runs in the agent.
#include "launcher/agent/rank_stop.h"

#include <utility>

#include <signal.h>

#include "comm/base/try.h"

namespace paceline::launcher {

// Signals that do not end the agent are meant for the ranks. A resource manager that warns a job of
// its time limit sends them to all processes, and the head passes its own on to the ranks.
void outlive_signals() { block_signals(signals_from_outside()); }

Status RankStop::watch() {
  PACELINE_TRY_ASSIGN(
      source_, SignalSource::watch(loop_, ending_signals(), [this](int signal) { came(signal); }));
  return Status();
}

bool RankStop::begin(Duration grace) {
  grace_ = grace;
  has_ranks_ = asked_by_ == 0;
  if (!has_ranks_) tell_head(asked_by_);  // at came() the head had no job to end yet
  return has_ranks_;
}

void RankStop::order(const messages::Stop& stop) {
  is_ending_ = true;
  requests_.came_elsewhere();
  if (std::exchange(passed_on_, 0) == stop.signal()) return;
  signal_ranks(stop.signal(), Duration(stop.grace_ns()));
}

void RankStop::came(int signal) {
  switch (requests_.came(signal, loop_.clock().now(), is_ending_)) {
    case EndRequests::Meaning::kStop:
      is_ending_ = true;
      asked_by_ = signal;
      tell_head(signal);
      if (!has_ranks_) return;
      passed_on_ = signal;
      return signal_ranks(signal, grace_);
    case EndRequests::Meaning::kKill:
      return handlers_.signal_ranks(SIGKILL);
    case EndRequests::Meaning::kNothing:
      return;
  }
}

// SIGCONT: a stopped rank could not react to the signal.
void RankStop::signal_ranks(int signal, Duration grace) {
  handlers_.signal_ranks(signal);
  handlers_.signal_ranks(SIGCONT);
  if (signal != SIGKILL) loop_.after(grace, [this] { handlers_.signal_ranks(SIGKILL); });
}

void RankStop::tell_head(int signal) {
  messages::FromAgent message;
  message.mutable_asked_to_end()->set_signal(signal);
  handlers_.tell(message);
}

}  // namespace paceline::launcher
