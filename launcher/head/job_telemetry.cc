#include "launcher/head/job_telemetry.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "launcher/channel/figure_messages.h"
#include "telemetry/flight_ring.h"

namespace paceline::launcher {
namespace {

// A rank writes the memory that its agent reads. So numbers may be nonsense.
constexpr std::int64_t kMostNs = INT64_MAX / 4;
constexpr std::uint32_t kMostRanks = 1 << 20;
constexpr std::uint64_t kMostWeight = std::uint64_t{1} << OperationBook::kLevels;
constexpr Duration kClockPeriod = std::chrono::minutes(1);

bool is_sane(std::int64_t ns) { return ns >= 0 && ns <= kMostNs; }

bool is_sane(const messages::Steps& steps) {
  const auto& parts = steps.part_ns();
  const auto sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  const auto wall = static_cast<double>(steps.end_ns() - steps.begin_ns());
  return std::isfinite(steps.flop()) && sum <= 1.01 * wall + 1 && is_sane(steps.begin_ns()) &&
         is_sane(steps.end_ns()) && is_sane(steps.exposed_ns()) &&
         steps.begin_ns() <= steps.end_ns() && parts.size() == static_cast<int>(kStepParts) &&
         std::ranges::all_of(parts, [&steps](std::int64_t part) {
           return part >= 0 && part <= steps.end_ns() - steps.begin_ns();
         });
}

bool is_sane(const messages::OperationSample& sample) {
  return sample.kind() < std::size(kOperationKinds) && is_sane(sample.called_ns()) &&
         is_sane(sample.ended_ns()) && sample.called_ns() <= sample.ended_ns() &&
         is_sane(sample.exposed_ns());
}

StepTotals totals_of(const messages::Steps& steps) {
  StepTotals totals{.steps = steps.steps(),
                    .samples = steps.samples(),
                    .flop = steps.flop(),
                    .wall = Duration(steps.end_ns() - steps.begin_ns())};
  for (std::size_t i = 0; i < kStepParts; ++i)
    totals.parts[i] = Duration(steps.part_ns(static_cast<int>(i)));
  return totals;
}

// Differences of nonsense could overflow: such a use counts as not read.
RankUse use_of(const messages::RankUsage& usage) {
  const bool is_sane_use = is_sane(usage.time_ns()) && is_sane(usage.run_ns()) &&
                           is_sane(usage.queued_ns()) && is_sane(usage.throttled_ns()) &&
                           is_sane(usage.stopped_ns()) && is_sane(usage.blocked_ns());
  if (!is_sane_use) return {};
  return {.time = Duration(usage.time_ns()),
          .running = Duration(usage.run_ns()),
          .queued = Duration(usage.queued_ns()),
          .throttled = Duration(usage.throttled_ns()),
          .stopped = Duration(usage.stopped_ns()),
          .blocked = Duration(usage.blocked_ns()),
          .major_faults = usage.major_faults(),
          .resident_kib = usage.resident_kib(),
          .figures = figures_of<HostFigure, kHostFigures>(usage.figures())};
}

RankTotals totals_of(const messages::CountedOperations& counted) {
  RankTotals totals{.group = counted.group(),
                    .name = counted.name(),
                    .size = static_cast<int>(std::min(counted.size(), kMostRanks)),
                    .totals = {}};
  for (const messages::OperationTotals& one : counted.totals())
    if (one.kind() < std::size(kOperationKinds))
      totals.totals.push_back({.kind = static_cast<OperationKind>(one.kind()),
                               .count = one.count(),
                               .bytes = one.bytes(),
                               .time_ns = one.time_ns(),
                               .exposed_ns = one.exposed_ns()});
  return totals;
}

RankSamples samples_of(const messages::SampledOperations& group, Duration ahead) {
  RankSamples samples{.group = group.group(),
                      .size = static_cast<int>(std::min(group.size(), kMostRanks)),
                      .weight = std::clamp<std::uint64_t>(group.weight(), 1, kMostWeight),
                      .ahead = ahead,
                      .samples = {}};
  for (const messages::OperationSample& one : group.samples()) {
    if (!is_sane(one)) continue;
    samples.samples.push_back({.sequence = one.sequence(),
                               .kind = static_cast<OperationKind>(one.kind()),
                               .is_root = one.is_root(),
                               .bytes = one.bytes(),
                               .called_ns = one.called_ns() - ahead.count(),
                               .ended_ns = one.ended_ns() - ahead.count(),
                               .exposed_ns = one.exposed_ns()});
  }
  return samples;
}

std::vector<messages::Whereabouts> sane(
    const google::protobuf::RepeatedPtrField<messages::Whereabouts>& communicators) {
  std::vector<messages::Whereabouts> kept;
  for (const messages::Whereabouts& one : communicators)
    if (is_sane(one.lasts_ns()) && one.size() <= kMostRanks && kept.size() < FlightRing::kParts)
      kept.push_back(one);
  return kept;
}

// A rank that does not run reads late, and its kernel acknowledges the data late.
bool keeps_from_reading(Cause cause) {
  return cause == Cause::kThrottled || cause == Cause::kNoCpu || cause == Cause::kStopped ||
         cause == Cause::kMemory;
}

// Small enough for a line of the record.
std::vector<HostSummary> recorded_hosts(std::vector<HostSummary> hosts) {
  if (hosts.size() > kMostRecordedHosts) hosts.resize(kMostRecordedHosts);
  std::size_t room = kMostRecordedGpus;
  for (HostSummary& host : hosts) {
    if (host.gpus.size() > room) host.gpus.resize(room);
    room -= host.gpus.size();
  }
  return hosts;
}

}  // namespace

// Without an estimate of the agent, it is ahead by the most that any message shows.
Duration JobTelemetry::ahead_of(TimePoint now, std::size_t host, std::int64_t time_ns) {
  if (clocks_ahead_.size() <= host) clocks_ahead_.resize(host + 1);
  ClockAhead& clock = clocks_ahead_[host];
  if (now - clock.since > kClockPeriod) {
    clock.before = clock.current;
    clock.current = Duration::min();
    clock.since = now;
  }
  clock.current = std::max(clock.current, Duration(time_ns) - now.time_since_epoch());
  if (!clock.told) return clock.at_least();
  const auto& [ahead, error] = *clock.told;
  return std::max(ahead, std::min(clock.at_least(), ahead + error));
}

std::optional<Duration> JobTelemetry::clock_error(std::size_t host) const {
  const auto& told = clocks_ahead_[host].told;
  return told ? std::optional(told->error) : std::nullopt;
}

void JobTelemetry::take(TimePoint now, std::size_t host, const messages::RankMeasured& measured) {
  if (!is_sane(measured.steps()) || !is_sane(measured.time_ns()) || !is_sane(measured.joined_ns()))
    return;
  const Duration ahead = ahead_of(now, host, measured.time_ns());
  const int rank = static_cast<int>(measured.rank());
  if (is_sane(measured.whereabouts().lasts_ns()))
    whereabouts_[measured.rank()] = Whereabouts{.said = measured.whereabouts(),
                                                .communicators = sane(measured.communicators()),
                                                .heard = now};
  RankReading reading{.steps = totals_of(measured.steps()),
                      .use = use_of(measured.usage()),
                      .exposed = Duration(measured.steps().exposed_ns()),
                      .begin_ns = measured.steps().begin_ns() - ahead.count(),
                      .end_ns = measured.steps().end_ns() - ahead.count(),
                      .joined = {},
                      .until = TimePoint(Duration(measured.time_ns()) - ahead),
                      .ahead = ahead,
                      .clock_error = clock_error(host),
                      .repeats_input = measured.steps().repeats_input()};
  if (measured.has_gpu()) reading.use.gpu = measured.gpu();
  if (measured.joined_ns() != 0) reading.joined = TimePoint(Duration(measured.joined_ns()) - ahead);
  if (options_.trace != nullptr) options_.trace->take(now, rank, reading);
  account_.take(rank, std::move(reading));
  for (const messages::CountedOperations& one : measured.counted())
    account_.take(rank, totals_of(one));
  for (const messages::SampledOperations& one : measured.sampled())
    for (MatchedOperation& operation : account_.take(rank, samples_of(one, ahead)))
      if (options_.trace != nullptr) options_.trace->take(now, std::move(operation));
}

void JobTelemetry::take(std::size_t host, const messages::LinksMeasured& measured) {
  std::vector<LinkReading> readings;
  for (const messages::LinkUse& one : measured.links()) {
    if (!is_sane(one.busy_ns()) || !is_sane(one.unanswered_ns())) continue;
    readings.push_back({.from = one.from(),
                        .to = one.to(),
                        .bytes = one.bytes(),
                        .resent_bytes = one.resent_bytes(),
                        .busy = Duration(one.busy_ns()),
                        .unanswered = Duration(one.unanswered_ns())});
  }
  links_.take(host, std::move(readings));
}

void JobTelemetry::take(std::size_t host, const messages::HostMeasured& measured) {
  if (!is_sane(measured.time_ns())) return;
  if (clocks_ahead_.size() <= host) clocks_ahead_.resize(host + 1);
  const messages::ClockAhead& clock = measured.clock();
  const bool is_ahead_sane = clock.ahead_ns() >= -kMostNs && clock.ahead_ns() <= kMostNs;
  if (measured.has_clock() && is_ahead_sane && is_sane(clock.error_ns()))
    clocks_ahead_[host].told = {.ahead = Duration(clock.ahead_ns()),
                                .error = Duration(clock.error_ns())};
  HostReading reading{.time = Duration(measured.time_ns()),
                      .figures = figures_of<HostFigure, kHostFigures>(measured.figures()),
                      .gpus = {},
                      .clock_error = clock_error(host)};
  for (const messages::GpuMeasured& one : measured.gpus())
    reading.gpus.push_back(
        {.number = static_cast<int>(std::min<std::uint32_t>(one.number(), HostAccount::kMostGpus)),
         .name = one.name(),
         .figures = figures_of<GpuFigure, kGpuFigures>(one.figures())});
  host_account_.take(host, std::move(reading));
}

// A rank to which a slow link leads is late because its data is.
std::optional<JobSummary> JobTelemetry::summary() const {
  std::optional<JobSummary> summary = account_.summary();
  if (!summary) return summary;
  summary->peak_flop_per_s = options_.peak_flop_per_s;
  summary->links = links_.links();
  summary->hosts = host_account_.summaries();
  std::set<std::string> late_readers;
  for (const Straggler& late : summary->stragglers)
    if (keeps_from_reading(late.cause))
      late_readers.insert(hosts_[static_cast<std::size_t>(late.rank)]);
  summary->slow_links = find_slow_links(summary->links, summary->seconds, late_readers);
  for (Straggler& late : summary->stragglers) {
    const std::string& host = hosts_[static_cast<std::size_t>(late.rank)];
    const bool is_behind = std::ranges::any_of(
        summary->slow_links, [&](const SlowLink& slow) { return slow.link.to == host; });
    if (late.cause == Cause::kUnknown && is_behind) late.cause = Cause::kLink;
  }
  return summary;
}

void JobTelemetry::begin(const JobState& state) {
  if (epoch_) ++restarts_;
  epoch_ = state.epoch;
  account_.begin(static_cast<int>(state.ranks.size()));
  clocks_ahead_.clear();
  hosts_.clear();
  whereabouts_.assign(state.ranks.size(), std::nullopt);
  for (const RankState& rank : state.ranks) hosts_.push_back(state.hosts[rank.host].name);
  std::vector<std::string> names;
  for (const HostState& host : state.hosts) names.push_back(host.name);
  host_account_.begin(names);
  links_.begin(std::move(names));
}

void JobTelemetry::saw(TimePoint now, const JobEvent& event, const JobState& state) {
  if (epoch_ != state.epoch) begin(state);
  const auto* said = std::get_if<AgentSaid>(&event);
  if (said != nullptr && said->message.epoch() == state.epoch) {
    const auto is_of_host = [&](std::uint32_t rank) {
      return rank < state.ranks.size() && state.ranks[rank].host == said->host;
    };
    const messages::FromAgent& message = said->message;
    if (message.has_measured() && is_of_host(message.measured().rank()))
      take(now, said->host, message.measured());
    if (message.has_links()) take(said->host, message.links());
    if (message.has_host() && said->host < state.hosts.size()) take(said->host, message.host());
    if (message.has_exited() && is_of_host(message.exited().rank()))
      whereabouts_[message.exited().rank()].reset();
  }
  if (!state.finished || std::exchange(said_, true)) return;
  if (options_.baseline && state.ranks.size() > 1 && account_.summary())
    baseline_ = options_.baseline(hosts());
  say_closing_lines();
}

void JobTelemetry::say_closing_lines() const {
  if (!options_.say) return;
  const std::optional<JobSummary> summary = this->summary();
  if (options_.ablation.is_any()) {
    const auto whole = summary && options_.whole ? options_.whole(hosts()) : std::nullopt;
    for (const std::string& line : ceiling_lines(summary, options_.ablation, whole))
      options_.say(line);
    return;
  }
  if (!summary) return;
  for (const std::string& line : closing_lines(*summary, hosts_, baseline_)) options_.say(line);
}

std::vector<std::string> JobTelemetry::hosts() const {
  std::vector<std::string> hosts;
  for (const std::string& host : hosts_)
    if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
  return hosts;
}

std::optional<RunFigures> JobTelemetry::figures() const {
  const std::optional<JobSummary> summary = this->summary();
  if (!summary) return std::nullopt;
  const auto measured = scaling_efficiency(*summary, baseline_);
  RunFigures figures{.has_steps = summary->has_steps,
                     .repeats_input = summary->repeats_input,
                     .steps = summary->steps,
                     .step_seconds = summary->step_seconds(),
                     .samples_per_s = summary->samples_per_s,
                     .flop_per_s = summary->flop_per_s,
                     .peak_flop_per_s = summary->peak_flop_per_s,
                     .mfu = summary->mfu(),
                     .efficiency = measured.value_or(summary->share(Spent::kCompute)),
                     .is_measured = measured.has_value(),
                     .shares = {},
                     .operations = {},
                     .waited_for = {},
                     .links = {},
                     .slow_links = {},
                     .hosts = recorded_hosts(summary->hosts),
                     .ranks = {},
                     .blocks = summary->blocks};
  for (const OperationSummary& one : summary->operations)
    if (figures.operations.size() < kMostRecordedOperations) figures.operations.push_back(one);
  if (summary->evidence.size() <= kMostRecordedRanks) figures.ranks = summary->evidence;
  for (const LinkSummary& one : summary->links | std::views::take(kMostRecordedLinks))
    figures.links.push_back(one);
  for (const SlowLink& one : summary->slow_links | std::views::take(kMostRecordedLinks))
    figures.slow_links.push_back(one);
  for (std::size_t i = 0; i < kSpents; ++i)
    figures.shares.emplace(name(static_cast<Spent>(i)), summary->shares[i]);
  for (const auto& [rank, share] : summary->waited_for) {
    if (figures.waited_for.size() == kMostRecordedRanks) break;
    figures.waited_for.push_back({.rank = rank,
                                  .host = hosts_[static_cast<std::size_t>(rank)],
                                  .share = share,
                                  .cause = std::string(words_of(summary->cause_of(rank)))});
  }
  return figures;
}

}  // namespace paceline::launcher
