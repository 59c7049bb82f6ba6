#include "launcher/head/evidence_replay.h"

#include "launcher/head/job_telemetry.h"

namespace paceline::launcher {
namespace {

JobState state_of(const messages::EvidenceStart& start) {
  JobState state;
  state.epoch = start.epoch();
  for (const std::string& name : start.hosts()) {
    HostState host;
    host.name = name;
    state.hosts.push_back(host);
  }
  for (const std::uint32_t host : start.rank_hosts()) state.ranks.push_back({.host = host});
  return state;
}

}  // namespace

std::optional<RunFigures> replayed_figures(const std::vector<messages::EvidenceItem>& items) {
  JobTelemetry telemetry({});
  JobState state;
  for (const messages::EvidenceItem& item : items) {
    const TimePoint now{Duration(item.time_ns())};
    if (item.has_start()) {
      state = state_of(item.start());
      telemetry.saw(now, TimePassed{}, state);
    } else if (item.has_said()) {
      telemetry.saw(now, AgentSaid{.host = item.said().host(), .message = item.said().message()},
                    state);
    }
  }
  return telemetry.figures();
}

}  // namespace paceline::launcher
