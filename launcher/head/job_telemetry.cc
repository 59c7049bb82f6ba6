#include "launcher/head/job_telemetry.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace paceline::launcher {
namespace {

StepTotals totals_of(const messages::Steps& steps) {
  StepTotals totals{.steps = steps.steps(),
                    .samples = steps.samples(),
                    .flop = steps.flop(),
                    .wall = Duration(steps.end_ns() - steps.begin_ns())};
  for (int i = 0; i < std::min<int>(steps.part_ns_size(), kStepParts); ++i)
    totals.parts[static_cast<std::size_t>(i)] = Duration(steps.part_ns(i));
  return totals;
}

RankUse use_of(const messages::RankUsage& usage) {
  return {.time = Duration(usage.time_ns()),
          .queued = Duration(usage.queued_ns()),
          .throttled = Duration(usage.throttled_ns()),
          .stopped = Duration(usage.stopped_ns()),
          .blocked = Duration(usage.blocked_ns()),
          .major_faults = usage.major_faults()};
}

RankSamples samples_of(const messages::GroupOperations& group, Duration ahead) {
  RankSamples samples{.group = group.group(), .weight = group.weight(), .samples = {}};
  for (const messages::OperationSample& one : group.samples())
    samples.samples.push_back({.sequence = one.sequence(),
                               .kind = static_cast<OperationKind>(one.kind()),
                               .is_root = one.is_root(),
                               .bytes = one.bytes(),
                               .called_ns = one.called_ns() - ahead.count(),
                               .ended_ns = one.ended_ns() - ahead.count(),
                               .exposed_ns = one.exposed_ns()});
  return samples;
}

}  // namespace

// A message is on its way for some time: the clock is ahead by the most that any message shows.
void JobTelemetry::take(TimePoint now, std::size_t host, const messages::RankMeasured& measured) {
  const Duration shown = Duration(measured.time_ns()) - now.time_since_epoch();
  if (clocks_ahead_.size() <= host) clocks_ahead_.resize(host + 1, Duration::min());
  Duration& ahead = clocks_ahead_[host];
  ahead = std::max(ahead, shown);
  const int rank = static_cast<int>(measured.rank());
  RankReading reading{.steps = totals_of(measured.steps()),
                      .use = use_of(measured.usage()),
                      .exposed = Duration(measured.steps().exposed_ns()),
                      .joined = {},
                      .until = TimePoint(Duration(measured.time_ns()) - ahead)};
  if (measured.joined_ns() != 0) reading.joined = TimePoint(Duration(measured.joined_ns()) - ahead);
  account_.take(rank, std::move(reading));
  for (const messages::GroupOperations& group : measured.groups())
    account_.take(rank, samples_of(group, ahead));
}

void JobTelemetry::begin(const JobState& state) {
  if (epoch_) ++restarts_;
  epoch_ = state.epoch;
  account_.begin(static_cast<int>(state.ranks.size()));
  clocks_ahead_.clear();
  hosts_.clear();
  for (const RankState& rank : state.ranks) hosts_.push_back(state.hosts[rank.host].name);
}

void JobTelemetry::saw(TimePoint now, const JobEvent& event, const JobState& state) {
  if (epoch_ != state.epoch) begin(state);
  const auto* said = std::get_if<AgentSaid>(&event);
  if (said != nullptr && said->message.has_measured() && said->message.epoch() == state.epoch) {
    const std::uint32_t rank = said->message.measured().rank();
    if (rank < state.ranks.size() && state.ranks[rank].host == said->host)
      take(now, said->host, said->message.measured());
  }
  if (state.finished && !std::exchange(said_, true)) say_closing_lines();
}

void JobTelemetry::say_closing_lines() const {
  if (!options_.say) return;
  const std::optional<JobSummary> summary = account_.summary();
  if (!summary) return;
  for (const std::string& line : closing_lines(*summary, hosts_, options_.baseline))
    options_.say(line);
}

std::vector<std::string> JobTelemetry::hosts() const {
  std::vector<std::string> hosts;
  for (const std::string& host : hosts_)
    if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
  return hosts;
}

std::optional<RunFigures> JobTelemetry::figures() const {
  const std::optional<JobSummary> summary = account_.summary();
  if (!summary) return std::nullopt;
  const auto measured = scaling_efficiency(*summary, options_.baseline);
  RunFigures figures{.has_steps = summary->has_steps,
                     .steps = summary->steps,
                     .step_seconds = summary->step_seconds(),
                     .samples_per_s = summary->samples_per_s,
                     .flop_per_s = summary->flop_per_s,
                     .efficiency = measured.value_or(summary->share(Spent::kCompute)),
                     .is_measured = measured.has_value(),
                     .shares = {},
                     .waited_for = {},
                     .ranks = {}};
  if (summary->evidence.size() <= kMostRecordedRanks) figures.ranks = summary->evidence;
  for (std::size_t i = 0; i < kSpents; ++i)
    figures.shares.emplace(name(static_cast<Spent>(i)), summary->shares[i]);
  for (const auto& [rank, share] : summary->waited_for) {
    WaitedFor one{.rank = rank, .host = hosts_[static_cast<std::size_t>(rank)], .share = share};
    const auto straggler = std::ranges::find(summary->stragglers, rank, &Straggler::rank);
    if (straggler != summary->stragglers.end()) one.cause = words_of(straggler->cause);
    figures.waited_for.push_back(std::move(one));
  }
  return figures;
}

}  // namespace paceline::launcher
