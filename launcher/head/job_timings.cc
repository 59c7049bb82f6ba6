#include "launcher/head/job_timings.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace paceline::launcher {

// The agent's clock tells when; 0: the rank did not come so far. How far clocks are apart is known
// but for the time of a message: nothing was after it was heard of.
void JobTimings::note(Stage stage, std::uint32_t rank, std::int64_t time_ns,
                      const JobState& state) {
  if (time_ns == 0) return;
  const HostState& host = state.hosts[state.ranks[rank].host];
  const std::string elsewhere = state.hosts.size() > 1 ? " on host " + host.name : "";
  const TimePoint when = std::min(TimePoint(Duration(time_ns) - host.clock_ahead), host.heard);
  timings_.came(stage, when, "rank " + std::to_string(rank) + elsewhere);
}

void JobTimings::note_message(std::size_t host, const messages::FromAgent& message,
                              const JobState& state) {
  if (message.has_ready() && host == 0) timings_.came(Stage::kMeeting, state.hosts[0].heard);
  const auto is_of_host = [&](std::uint32_t rank) {
    return rank < state.ranks.size() && state.ranks[rank].host == host;
  };
  if (message.has_started() && is_of_host(message.started().rank()))
    note(Stage::kStarted, message.started().rank(), message.started().time_ns(), state);
  if (!message.has_exited() || !is_of_host(message.exited().rank())) return;
  const messages::RankExited& exited = message.exited();
  note(Stage::kJoining, exited.rank(), exited.joining_ns(), state);
  note(Stage::kJoined, exited.rank(), exited.joined_ns(), state);
  note(Stage::kFirstOperation, exited.rank(), exited.first_operation_ns(), state);
  note(Stage::kEnded, exited.rank(), exited.time_ns(), state);
}

void JobTimings::saw(TimePoint now, const JobEvent& event, const JobState& state) {
  if (const auto* said = std::get_if<AgentSaid>(&event))
    note_message(said->host, said->message, state);
  if (!std::exchange(seeks_hosts_, state.seeks_hosts) && state.seeks_hosts)
    timings_.forget_from(Stage::kAgent);
  if (std::exchange(epoch_, state.epoch) != state.epoch) {
    timings_.forget_from(Stage::kMeeting);
    cleared_.clear();
  }
  cleared_.resize(state.hosts.size());
  for (std::size_t host = 0; host < cleared_.size(); ++host) {
    if (cleared_[host] || state.hosts[host].phase != HostPhase::kFinished) continue;
    cleared_[host] = true;
    timings_.came(Stage::kCleared, now, "host " + state.hosts[host].name);
  }
  if (state.finished && !std::exchange(said_, true)) say_(timings_.table());
}

}  // namespace paceline::launcher
