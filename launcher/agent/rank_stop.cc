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

bool RankStop::begin(Duration grace, bool signals_groups) {
  timers_.cancel();
  if (asked_by_ == 0) {
    requests_ = {};
    is_ending_ = false;
  }
  grace_ = grace;
  signals_groups_ = signals_groups;
  has_ranks_ = asked_by_ == 0;
  if (!has_ranks_) tell_head(asked_by_);  // at came() the head had no job to end yet
  return has_ranks_;
}

void RankStop::order(const messages::Stop& stop) {
  if (!stop.restarts()) {
    is_ending_ = true;
    requests_.came_elsewhere();
  }
  if (std::exchange(passed_on_, 0) == stop.signal()) return;
  end_ranks(stop.signal(), Duration(stop.grace_ns()));
}

void RankStop::pass_on(int signal) { send(signal, reach_of(signal)); }

void RankStop::came(int signal) {
  switch (requests_.came(signal, loop_.clock().now(), is_ending_)) {
    case EndRequests::Meaning::kStop:
      is_ending_ = true;
      asked_by_ = signal;
      tell_head(signal);
      if (!has_ranks_) return;
      passed_on_ = signal;
      return end_ranks(signal, grace_);
    case EndRequests::Meaning::kKill:
      return send(SIGKILL, messages::WHOLE_GROUP);
    case EndRequests::Meaning::kNothing:
      return;
  }
}

// SIGCONT: a stopped rank could not react to the signal.
void RankStop::end_ranks(int signal, Duration grace) {
  const messages::Reach reach = reach_of(signal);
  const bool spares_rest = reach == messages::MAIN_PROCESS;
  send(signal, reach, spares_rest);
  send(SIGCONT, messages::WHOLE_GROUP);
  if (signal == SIGKILL) return;
  if (spares_rest) timers_.after(grace / 2, [this] { send(SIGTERM, messages::REST_OF_GROUP); });
  timers_.after(grace, [this] { send(SIGKILL, messages::WHOLE_GROUP); });
}

// Signals that stop and continue, and that tell of the window's size, are for whole groups, as
// shells and terminals send them.
messages::Reach RankStop::reach_of(int signal) const {
  const bool is_for_groups =
      signal == SIGKILL || signal == SIGSTOP || signal == SIGCONT || signal == SIGWINCH;
  return is_for_groups || signals_groups_ ? messages::WHOLE_GROUP : messages::MAIN_PROCESS;
}

void RankStop::send(int signal, messages::Reach reach, bool spares_rest) {
  messages::SignalRanks order;
  order.set_signal(signal);
  order.set_reach(reach);
  order.set_spares_rest(spares_rest);
  handlers_.signal_ranks(order);
}

void RankStop::tell_head(int signal) {
  messages::FromAgent message;
  message.mutable_asked_to_end()->set_signal(signal);
  handlers_.tell(message);
}

}  // namespace paceline::launcher
