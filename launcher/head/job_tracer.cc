#include "launcher/head/job_tracer.h"

#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include "comm/base/text.h"

namespace paceline::launcher {
namespace {

constexpr Duration kWriteEvery = std::chrono::seconds(1);

}  // namespace

// Writes at once, so that the file is a trace from the begin.
JobTracer::JobTracer(Options options)
    : options_(std::move(options)), trace_(options_.begin, options_.job), written_(options_.begin) {
  append(trace_.text(written_));
}

JobTracer::~JobTracer() { append(trace_.end(written_)); }

void JobTracer::append(const std::string& events) {
  if (const Status written = options_.file->append(events); !written.ok())
    options_.say("warning: the trace ends early: " + std::string(written.text()));
}

void JobTracer::note_start(TimePoint now, const JobState& state) {
  std::vector<std::string> hosts;
  for (const RankState& rank : state.ranks) hosts.push_back(state.hosts[rank.host].name);
  const std::string what = count_text(hosts.size(), "rank") + " start" +
                           (hosts.size() == 1 ? "s" : "") + (epoch_ ? " again" : "");
  trace_.begin_start(now, std::move(hosts), what + ", epoch " + std::to_string(state.epoch));
  epoch_ = state.epoch;
  ended_.assign(state.ranks.size(), false);
}

void JobTracer::note_end_of_rank(TimePoint now, const AgentSaid& said, const JobState& state) {
  if (!said.message.has_exited() || said.message.epoch() != state.epoch) return;
  const std::uint32_t rank = said.message.exited().rank();
  if (rank >= state.ranks.size() || state.ranks[rank].host != said.host) return;
  ended_[rank] = true;
  trace_.rank_ended(now, static_cast<int>(rank), state.ranks[rank].end);
}

void JobTracer::note_lost_ranks(TimePoint now, const JobState& state) {
  for (std::size_t rank = 0; rank < state.ranks.size(); ++rank) {
    if (ended_[rank] || !state.hosts[state.ranks[rank].host].is_lost) continue;
    ended_[rank] = true;
    trace_.rank_ended(now, static_cast<int>(rank), "is lost with its host");
  }
}

void JobTracer::saw(TimePoint now, const JobEvent& event, const JobState& state) {
  if (epoch_ != state.epoch) note_start(now, state);
  if (const auto* said = std::get_if<AgentSaid>(&event)) note_end_of_rank(now, *said, state);
  const bool may_have_lost =
      std::holds_alternative<AgentLost>(event) || faults_ < state.faults.all().size();
  if (may_have_lost) note_lost_ranks(now, state);
  for (; faults_ < state.faults.all().size(); ++faults_) {
    const HostFault& fault = state.faults.all()[faults_];
    trace_.note(now, "host " + fault.host + " is lost: " + fault.why);
  }
  if (!std::exchange(is_restarting_, state.is_restarting) && state.is_restarting)
    trace_.note(now, "the ranks end, to start again");
  if (state.finished) return append(trace_.end(now));
  if (now - written_ < kWriteEvery) return;
  written_ = now;
  append(trace_.text(now));
}

}  // namespace paceline::launcher
