#include "telemetry/job/job_account.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace paceline {
namespace {

constexpr double kNsPerSecond = 1e9;

double ns(Duration time) { return static_cast<double>(time.count()); }

struct Divided {
  double wall_ns = 0;
  std::array<double, kSpents> spent_ns{};

  double& of(Spent spent) { return spent_ns[static_cast<std::size_t>(spent)]; }
};

Divided divided_steps(const StepTotals& steps) {
  Divided time{.wall_ns = ns(steps.wall)};
  time.of(Spent::kCompute) = ns(steps.part(StepPart::kCompute));
  time.of(Spent::kMoving) = ns(steps.part(StepPart::kCommunication));
  time.of(Spent::kInput) = ns(steps.part(StepPart::kInput));
  time.of(Spent::kOther) = ns(steps.part(StepPart::kOther));
  return time;
}

bool has_joined(const RankReading& rank) {
  return rank.joined != TimePoint{} && rank.until > rank.joined;
}

Divided divided_life(const RankReading& rank) {
  const double wall = ns(rank.until - rank.joined);
  const double exposed = std::min(wall, ns(rank.exposed));
  Divided time{.wall_ns = wall};
  time.of(Spent::kMoving) = exposed;
  time.of(Spent::kCompute) = wall - exposed;
  return time;
}

bool spreads_from_root(OperationKind kind) {
  return kind == OperationKind::kBroadcast || kind == OperationKind::kScatter ||
         kind == OperationKind::kScatterV;
}

}  // namespace

std::string_view name(Spent spent) {
  switch (spent) {
    case Spent::kCompute:
      return "compute";
    case Spent::kMoving:
      return "moving data";
    case Spent::kWaiting:
      return "waiting";
    case Spent::kInput:
      return "input";
    case Spent::kOther:
      return "other";
  }
  return "unknown";
}

void JobAccount::begin(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  *this = JobAccount();
  readings_.resize(count);
  first_.resize(count);
  waits_.resize(count);
  waited_for_ns_.resize(count);
}

void JobAccount::take(int rank, RankReading reading) {
  std::optional<RankReading>& first = first_[static_cast<std::size_t>(rank)];
  if (!first || (first->steps.steps == 0 && reading.steps.steps > 0)) first = reading;
  readings_[static_cast<std::size_t>(rank)] = std::move(reading);
}

// An operation is settled when all ranks of the job have reported it. Those of smaller groups, and
// those that a rank has not kept, are settled when they are the oldest of many, or at the end.
void JobAccount::take(int rank, const RankSamples& samples) {
  for (const OperationSample& sample : samples.samples) {
    const Key key{samples.group, sample.sequence};
    const auto [place, is_new] = open_.try_emplace(key);
    if (is_new) order_.push_back(key);
    Operation& operation = place->second;
    operation.weight = std::max(operation.weight, samples.weight);
    operation.calls.push_back({rank, sample});
    if (operation.calls.size() < readings_.size()) continue;
    settle(operation, waits_, waited_for_ns_);
    open_.erase(place);
  }
  while (order_.size() > kMostOpen) {
    if (const auto oldest = open_.find(order_.front()); oldest != open_.end()) {
      settle(oldest->second, waits_, waited_for_ns_);
      open_.erase(oldest);
    }
    order_.pop_front();
  }
}

std::optional<RankReading> JobAccount::reading(int rank) const {
  return readings_[static_cast<std::size_t>(rank)];
}

// Of an operation of one rank alone nothing is known.
void JobAccount::settle(const Operation& operation, std::vector<Waits>& waits,
                        std::vector<double>& waited_for_ns) {
  if (operation.calls.size() < 2) return;
  const auto weight = static_cast<double>(operation.weight);
  const auto root =
      std::ranges::find_if(operation.calls, [](const Call& call) { return call.sample.is_root; });
  const auto last = std::ranges::max_element(
      operation.calls, {}, [](const Call& call) { return call.sample.called_ns; });
  for (const Call& call : operation.calls) {
    const OperationSample& sample = call.sample;
    Waits& own = waits[static_cast<std::size_t>(call.rank)];
    own.exposed_ns += weight * static_cast<double>(sample.exposed_ns);
    auto needed = last;
    if (has_root(sample.kind)) {
      const bool waits_for_all = !spreads_from_root(sample.kind) && sample.is_root;
      const bool waits_for_root = spreads_from_root(sample.kind) && !sample.is_root;
      if (!waits_for_all && !waits_for_root) continue;
      if (waits_for_root) needed = root;
    }
    if (needed == operation.calls.end() || needed->rank == call.rank) continue;
    const std::int64_t until = std::min(needed->sample.called_ns, sample.ended_ns);
    const std::int64_t waited = until - (sample.ended_ns - sample.exposed_ns);
    if (waited <= 0) continue;
    own.waiting_ns += weight * static_cast<double>(waited);
    waited_for_ns[static_cast<std::size_t>(needed->rank)] += weight * static_cast<double>(waited);
  }
}

std::optional<JobSummary> JobAccount::summary() const {
  std::vector<Waits> waits = waits_;
  std::vector<double> waited_for_ns = waited_for_ns_;
  for (const auto& [key, operation] : open_) settle(operation, waits, waited_for_ns);
  JobSummary summary;
  summary.has_steps =
      std::ranges::any_of(readings_, [](const auto& one) { return one && one->steps.steps > 0; });
  Divided all;
  for (std::size_t rank = 0; rank < readings_.size(); ++rank) {
    if (!readings_[rank]) continue;
    const RankReading& reading = *readings_[rank];
    if (summary.has_steps ? reading.steps.steps == 0 : !has_joined(reading)) continue;
    Divided time = summary.has_steps ? divided_steps(reading.steps) : divided_life(reading);
    const Waits& known = waits[rank];
    const double ratio = known.exposed_ns > 0 ? known.waiting_ns / known.exposed_ns : 0;
    time.of(Spent::kWaiting) = std::min(1.0, ratio) * time.of(Spent::kMoving);
    time.of(Spent::kMoving) -= time.of(Spent::kWaiting);
    ++summary.ranks;
    summary.steps = std::max(summary.steps, reading.steps.steps);
    if (time.wall_ns > 0) {
      const double per_second = kNsPerSecond / time.wall_ns;
      summary.samples_per_s += per_second * static_cast<double>(reading.steps.samples);
      summary.flop_per_s += per_second * reading.steps.flop;
    }
    all.wall_ns += time.wall_ns;
    for (std::size_t i = 0; i < kSpents; ++i) all.spent_ns[i] += time.spent_ns[i];
  }
  if (summary.ranks == 0 || all.wall_ns <= 0) return std::nullopt;
  summary.seconds = all.wall_ns / kNsPerSecond / summary.ranks;
  for (std::size_t i = 0; i < kSpents; ++i) summary.shares[i] = all.spent_ns[i] / all.wall_ns;
  const double blamed = std::accumulate(waited_for_ns.begin(), waited_for_ns.end(), 0.0);
  for (std::size_t rank = 0; rank < waited_for_ns.size() && blamed > 0; ++rank)
    if (waited_for_ns[rank] > 0)
      summary.waited_for.emplace_back(
          static_cast<int>(rank), summary.share(Spent::kWaiting) * waited_for_ns[rank] / blamed);
  std::ranges::stable_sort(summary.waited_for, std::greater(), &std::pair<int, double>::second);
  summary.evidence = evidence_of(summary);
  summary.stragglers = find_stragglers(summary.evidence);
  return summary;
}

// Shares of the time between two readings. A rank that was read once was too short a time there.
std::vector<RankEvidence> JobAccount::evidence_of(const JobSummary& summary) const {
  std::vector<RankEvidence> evidence(readings_.size());
  for (const auto& [rank, share] : summary.waited_for)
    evidence[static_cast<std::size_t>(rank)].waited_for = share;
  for (std::size_t rank = 0; rank < readings_.size(); ++rank) {
    if (!readings_[rank]) continue;
    const RankReading& from = *first_[rank];
    const RankReading& to = *readings_[rank];
    RankEvidence& own = evidence[rank];
    const auto share_of = [](Duration time, Duration all) {
      return all > Duration::zero() ? ns(time) / ns(all) : 0.0;
    };
    own.compute = share_of(to.steps.part(StepPart::kCompute), to.steps.wall);
    own.input = share_of(to.steps.part(StepPart::kInput), to.steps.wall);
    if (!summary.has_steps && has_joined(to))
      own.compute = 1 - share_of(to.exposed, to.until - to.joined);
    const Duration between = to.use.time - from.use.time;
    own.queued = share_of(to.use.queued - from.use.queued, between);
    own.throttled = share_of(to.use.throttled - from.use.throttled, between);
    own.stopped = share_of(to.use.stopped - from.use.stopped, between);
    own.blocked = share_of(to.use.blocked - from.use.blocked, between);
    if (between > Duration::zero())
      own.major_faults_per_s = kNsPerSecond *
                               static_cast<double>(to.use.major_faults - from.use.major_faults) /
                               ns(between);
  }
  return evidence;
}

}  // namespace paceline
