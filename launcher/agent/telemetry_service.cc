// Runs in the agent.
#include "launcher/agent/telemetry_service.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "comm/base/try.h"
#include "launcher/agent/host_usage.h"
#include "launcher/channel/figure_messages.h"

namespace paceline::launcher {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(100);
constexpr std::size_t kLooksPerMessage = 10;
// With the head, at each look. Later there is one a second.
constexpr std::size_t kFirstExchanges = 8;
// In each second, for the head, which compares them.
constexpr std::size_t kSamplesOfJob = 16384, kSamplesOfLook = 128;

messages::Steps steps_of(const LedgerReading& reading) {
  messages::Steps steps;
  steps.set_steps(reading.totals.steps);
  steps.set_samples(reading.totals.samples);
  steps.set_flop(reading.totals.flop);
  steps.set_begin_ns(reading.begin_ns);
  steps.set_end_ns(reading.end_ns);
  steps.set_exposed_ns(reading.exposed_ns);
  steps.set_repeats_input(reading.repeats_input);
  for (const auto& part : reading.totals.parts) steps.add_part_ns(part.count());
  return steps;
}

messages::RankUsage usage_of(const RankUsage& read) {
  messages::RankUsage usage;
  usage.set_time_ns(read.time_ns);
  usage.set_run_ns(read.run_ns);
  usage.set_queued_ns(read.queued_ns);
  usage.set_throttled_ns(read.throttled_ns);
  usage.set_stopped_ns(read.stopped_ns);
  usage.set_blocked_ns(read.blocked_ns);
  usage.set_major_faults(read.major_faults);
  usage.set_resident_kib(read.resident_kib);
  add_figures(read.figures, *usage.mutable_figures());
  return usage;
}

messages::Whereabouts whereabouts_of(const FlightRecord& record, TimePoint now) {
  messages::Whereabouts whereabouts;
  whereabouts.set_operation(record.name());
  whereabouts.set_group(record.group_id);
  whereabouts.set_sequence(record.signature.sequence);
  whereabouts.set_size(static_cast<std::uint32_t>(std::max(record.group_size, 0)));
  whereabouts.set_collective(is_collective(record.signature.kind));
  const bool is_running = record.state == FlightState::kStarted;
  whereabouts.set_running(is_running);
  whereabouts.set_failed(record.state == FlightState::kFailed);
  // Ranks of other communicators have numbers of their own.
  const bool is_message = !is_collective(record.signature.kind) && record.signature.root >= 0;
  if (is_message && record.group.empty())
    whereabouts.set_peer(static_cast<std::uint32_t>(record.signature.root));
  whereabouts.set_lasts_ns(now.time_since_epoch().count() -
                           (is_running ? record.began_ns : record.ended_ns));
  return whereabouts;
}

void add_samples(const RankSamples& samples, messages::RankMeasured& measured) {
  messages::SampledOperations& sampled = *measured.add_sampled();
  sampled.set_group(samples.group);
  sampled.set_size(static_cast<std::uint32_t>(samples.size));
  sampled.set_weight(samples.weight);
  for (const OperationSample& one : samples.samples) {
    messages::OperationSample& sample = *sampled.add_samples();
    sample.set_sequence(one.sequence);
    sample.set_kind(static_cast<std::uint32_t>(one.kind));
    sample.set_is_root(one.is_root);
    sample.set_called_ns(one.called_ns);
    sample.set_ended_ns(one.ended_ns);
    sample.set_exposed_ns(one.exposed_ns);
    sample.set_bytes(one.bytes);
  }
}

void add_totals(const GroupOperations& group, messages::RankMeasured& measured) {
  messages::CountedOperations& counted = *measured.add_counted();
  counted.set_group(group.id);
  counted.set_name(group.group);
  counted.set_size(static_cast<std::uint32_t>(group.size));
  for (const OperationTotals& one : group.totals) {
    messages::OperationTotals& totals = *counted.add_totals();
    totals.set_kind(static_cast<std::uint32_t>(one.kind));
    totals.set_count(one.count);
    totals.set_bytes(one.bytes);
    totals.set_time_ns(one.time_ns);
    totals.set_exposed_ns(one.exposed_ns);
  }
}

}  // namespace

Status TelemetryService::prepare(const messages::Start& start) {
  epoch_ = start.epoch();
  const std::size_t a_rank = kSamplesOfJob / std::max(start.world_size(), 1U);
  takes_at_looks_ = a_rank >= kLooksPerMessage;
  most_samples_ =
      takes_at_looks_ ? std::min(a_rank / kLooksPerMessage, kSamplesOfLook) : a_rank + 1;
  numbers_ = {start.ranks().begin(), start.ranks().end()};
  for (int local = 0; local < start.ranks_size(); ++local)
    visible_gpus_.push_back(visible_gpu(start, local, ::getenv));
  return {};
}

Status TelemetryService::equip(int local_rank, RankEquipment& rank) {
  PACELINE_TRY_ASSIGN(UniqueFd memory, StepLedger::create_memory());
  PACELINE_TRY_ASSIGN(auto ledger, StepLedger::open(memory.get()));
  const auto place = static_cast<std::size_t>(local_rank);
  Rank& added = ranks_[numbers_[place]];
  added.ledger = std::move(ledger);
  added.gpu = visible_gpus_[place];
  add_variable(rank.variables(), "PACELINE_LEDGER_FD", rank.add(std::move(memory)));
  return {};
}

void TelemetryService::started(const messages::RankStarted& rank) {
  ranks_[rank.rank()].usage = std::make_unique<UsageReader>(static_cast<pid_t>(rank.pid()));
  if (std::exchange(is_looking_, true)) return;
  ask_for_time();
  measure_host();
  timers_.after(kLookEvery, [this] { look(); });
}

void TelemetryService::look() {
  const bool is_due = ++looks_ % kLooksPerMessage == 0;
  if (is_due) measure_host();
  for (auto& [number, rank] : ranks_) {
    if (rank.usage == nullptr) continue;
    rank.usage->look(clock_.now());
    if (is_due)
      measure(number, rank);
    else if (takes_at_looks_)
      take_samples(number, rank);
  }
  if (is_due) measure_links();
  if (is_due || clock_of_head_.exchanges() < kFirstExchanges) ask_for_time();
  timers_.after(kLookEvery, [this] { look(); });
}

void TelemetryService::measure_host() {
  gpus_ = read_gpus_();
  messages::FromAgent message;
  message.set_epoch(epoch_);
  messages::HostMeasured& host = *message.mutable_host();
  add_figures(read_host_usage(), *host.mutable_figures());
  *host.mutable_gpus() = gpus_;
  const TimePoint now = clock_.now();
  host.set_time_ns(now.time_since_epoch().count());
  if (const auto clock = clock_of_head_.estimate(now)) {
    host.mutable_clock()->set_ahead_ns(clock->ahead.count());
    host.mutable_clock()->set_error_ns(clock->error.count());
  }
  tell_(message);
}

void TelemetryService::ask_for_time() {
  messages::FromAgent message;
  message.mutable_clock_asked()->set_time_ns(clock_.now().time_since_epoch().count());
  tell_(message);
}

void TelemetryService::take_clock(const messages::ClockTold& told) {
  clock_of_head_.take({.asked = TimePoint(Duration(told.asked_ns())),
                       .told = TimePoint(Duration(told.time_ns())),
                       .answered = clock_.now()});
}

void TelemetryService::measure_links() {
  std::vector<pid_t> groups;
  for (const auto& [number, rank] : ranks_)
    if (rank.usage != nullptr) groups.push_back(rank.usage->process());
  if (!links_.look(groups, clock_)) return;
  messages::FromAgent message;
  message.set_epoch(epoch_);
  for (const LinkReading& one : links_.links()) {
    messages::LinkUse& link = *message.mutable_links()->add_links();
    link.set_from(one.from);
    link.set_to(one.to);
    link.set_bytes(one.bytes);
    link.set_resent_bytes(one.resent_bytes);
    link.set_busy_ns(one.busy.count());
    link.set_unanswered_ns(one.unanswered.count());
  }
  if (message.has_links()) tell_(message);
}

void TelemetryService::ended(const messages::ProcessExited& exited, messages::RankExited&) {
  const auto rank = ranks_.find(exited.rank());
  if (rank == ranks_.end()) return;
  if (ranks_.size() == 1) measure_host();
  measure(rank->first, rank->second);
  ranks_.erase(rank);
  if (ranks_.empty()) timers_.cancel();
}

// Often, so that few are lost where operations are frequent.
std::vector<GroupOperations> TelemetryService::take_samples(std::uint32_t number, Rank& rank) {
  std::vector<GroupOperations> groups = flights_->operations(static_cast<int>(number));
  rank.reader.keep_only(groups);
  const std::size_t most =
      std::max<std::size_t>(1, most_samples_ / std::max<std::size_t>(1, groups.size()));
  for (const GroupOperations& group : groups)
    if (RankSamples samples = rank.reader.take(group, most); !samples.samples.empty())
      rank.samples.push_back(std::move(samples));
  return groups;
}

void TelemetryService::measure(std::uint32_t number, Rank& rank) {
  const LedgerReading reading = rank.ledger->read();
  const FlightMilestones milestones = flights_->milestones(static_cast<int>(number));
  if (reading.begin_ns == 0 && milestones.joined_ns == 0) return;
  messages::FromAgent message;
  message.set_epoch(epoch_);
  messages::RankMeasured& measured = *message.mutable_measured();
  measured.set_rank(number);
  *measured.mutable_steps() = steps_of(reading);
  measured.set_joined_ns(milestones.joined_ns);
  if (rank.usage != nullptr) {
    rank.usage->set_thread(reading.thread);
    *measured.mutable_usage() = usage_of(rank.usage->read(clock_.now()));
  }
  if (const auto gpu = number_of(rank.gpu, gpus_)) measured.set_gpu(*gpu);
  const FlightBook::Position position = flights_->position(static_cast<int>(number));
  if (position.last) *measured.mutable_whereabouts() = whereabouts_of(*position.last, clock_.now());
  for (const FlightBook::Place& place : position.places) {
    messages::Whereabouts& added = *measured.add_communicators();
    added = whereabouts_of(place.record, clock_.now());
    added.set_calls(place.calls);
  }
  for (const GroupOperations& group : take_samples(number, rank)) add_totals(group, measured);
  for (const RankSamples& samples : rank.samples) add_samples(samples, measured);
  rank.samples.clear();
  measured.set_time_ns(clock_.now().time_since_epoch().count());
  tell_(message);
}

}  // namespace paceline::launcher
