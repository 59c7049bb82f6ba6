#include "telemetry/job/job_account.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace paceline {
namespace {

constexpr double kNsPerSecond = 1e9;

// No group has this id.
constexpr std::uint64_t kOtherGroups = UINT64_MAX;

// A rank may say any times.
std::int64_t sum_of_times(std::int64_t one, std::int64_t other) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(one) +
                                   static_cast<std::uint64_t>(other));
}

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

// All wait for the last one, or, where there is a root, for the root or as the root.
void find_waits(std::vector<OperationCall>& calls) {
  const auto root =
      std::ranges::find_if(calls, [](const OperationCall& call) { return call.sample.is_root; });
  const auto last = std::ranges::max_element(
      calls, {}, [](const OperationCall& call) { return call.sample.called_ns; });
  for (OperationCall& call : calls) {
    const OperationSample& sample = call.sample;
    auto needed = last;
    if (has_root(sample.kind)) {
      const bool waits_for_all = !spreads_from_root(sample.kind) && sample.is_root;
      const bool waits_for_root = spreads_from_root(sample.kind) && !sample.is_root;
      needed = waits_for_all ? last : waits_for_root ? root : calls.end();
    }
    if (needed == calls.end() || needed->rank == call.rank) continue;
    const std::int64_t until = std::min(needed->sample.called_ns, sample.ended_ns);
    const std::int64_t waited =
        std::min(until - (sample.ended_ns - sample.exposed_ns), sample.exposed_ns);
    call.waited_ns = std::max<std::int64_t>(waited, 0);
    call.waited_for = needed->rank;
  }
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

std::optional<Spent> spent_named(std::string_view wanted) {
  for (std::size_t i = 0; i < kSpents; ++i)
    if (name(static_cast<Spent>(i)) == wanted) return static_cast<Spent>(i);
  return std::nullopt;
}

Cause JobSummary::cause_of(int rank) const {
  const auto found = std::ranges::find(stragglers, rank, &Straggler::rank);
  return found == stragglers.end() ? Cause::kUnknown : found->cause;
}

void JobAccount::Waits::resize(std::size_t ranks) {
  waiting_ns.resize(ranks);
  exposed_ns.resize(ranks);
  waited_for_ns.resize(ranks);
}

void JobAccount::Waits::add(std::size_t rank, const Wait& wait) {
  exposed_ns[rank] += wait.exposed_ns;
  waiting_ns[rank] += wait.waiting_ns;
  if (wait.waited_for >= 0)
    waited_for_ns[static_cast<std::size_t>(wait.waited_for)] += wait.waiting_ns;
}

void JobAccount::begin(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  *this = JobAccount();
  readings_.resize(count);
  first_.resize(count);
  groups_.resize(count);
  all_.resize(count);
  in_steps_.resize(count);
  undecided_.resize(count);
}

void JobAccount::take(int rank, RankReading reading) {
  const auto place = static_cast<std::size_t>(rank);
  std::optional<RankReading>& first = first_[place];
  if (!first || (first->steps.steps == 0 && reading.steps.steps > 0)) first = reading;
  count_steps(place, reading);
  readings_[place] = std::move(reading);
  decide(place);
}

void JobAccount::count_steps(std::size_t rank, const RankReading& reading) {
  const StepTotals before = readings_[rank] ? readings_[rank]->steps : StepTotals();
  StepBlock added = block_of(reading.steps);
  added -= block_of(before);
  steps_ += added;
  ranks_with_steps_ += (reading.steps.steps > 0 ? 1 : 0) - (before.steps > 0 ? 1 : 0);
  series_.take(steps_, ranks_with_steps_);
}

// An operation is settled when all ranks of its group have reported it. Some never do: a rank may
// have kept other samples, or has ended.
std::vector<MatchedOperation> JobAccount::take(int rank, const RankSamples& samples) {
  std::vector<MatchedOperation> settled;
  for (const OperationSample& sample : samples.samples) {
    const Key key{samples.group, sample.sequence};
    const auto [place, is_new] = open_.try_emplace(key);
    if (is_new) order_.push_back(key);
    MatchedOperation& operation = place->second;
    operation.weight = std::max(operation.weight, samples.weight);
    operation.calls.push_back({.rank = rank, .sample = sample, .ahead = samples.ahead});
    ++open_calls_;
    if (std::cmp_less(operation.calls.size(), samples.size)) continue;
    open_calls_ -= operation.calls.size();
    const auto& groups = groups_[static_cast<std::size_t>(rank)].by_id;
    if (const auto group = groups.find(samples.group); group != groups.end())
      operation.group = group->second.totals.name;
    settle(operation);
    settled.push_back(std::move(operation));
    open_.erase(place);
  }
  while (!order_.empty() && (open_calls_ > kMostCalls || !open_.contains(order_.front()))) {
    if (const auto oldest = open_.find(order_.front()); oldest != open_.end()) {
      open_calls_ -= oldest->second.calls.size();
      open_.erase(oldest);
    }
    order_.pop_front();
  }
  // Behind an operation that stays open, others come and go.
  if (order_.size() > 2 * open_.size() + kMostSettledInOrder)
    std::erase_if(order_, [this](const Key& key) { return !open_.contains(key); });
  return settled;
}

// Operations before and after the steps, as for loading and checkpoints, do not say how the
// communication of steps divides.
void JobAccount::decide(std::size_t rank) {
  const RankReading& reading = *readings_[rank];
  if (reading.steps.steps == 0) return;
  std::erase_if(undecided_[rank], [&](const Wait& wait) {
    if (wait.called_ns > reading.end_ns) return false;
    if (wait.ended_ns >= reading.begin_ns) in_steps_.add(rank, wait);
    return true;
  });
}

void JobAccount::take(int rank, RankTotals totals) {
  Groups& groups = groups_[static_cast<std::size_t>(rank)];
  const std::uint64_t id = totals.group;
  groups.by_id[id] = {.totals = std::move(totals), .taken = ++groups.takes};
  if (groups.by_id.size() > kMostGroups) fold_oldest(groups);
}

void JobAccount::fold_oldest(Groups& groups) {
  const auto oldest = std::ranges::min_element(
      groups.by_id, {}, [](const auto& entry) { return entry.second.taken; });
  if (!groups.others)
    groups.others = RankTotals{.group = kOtherGroups, .name = "others", .size = 0, .totals = {}};
  std::vector<OperationTotals>& all = groups.others->totals;
  for (const OperationTotals& one : oldest->second.totals.totals) {
    const auto same = std::ranges::find(all, one.kind, &OperationTotals::kind);
    if (same == all.end()) {
      all.push_back(one);
      continue;
    }
    same->count += one.count;
    same->bytes += one.bytes;
    same->time_ns = sum_of_times(same->time_ns, one.time_ns);
    same->exposed_ns = sum_of_times(same->exposed_ns, one.exposed_ns);
  }
  groups.by_id.erase(oldest);
}

std::vector<OperationSummary> JobAccount::operations() const {
  std::map<std::pair<std::uint64_t, OperationKind>, std::pair<OperationSummary, int>> by_kind;
  const auto add = [&by_kind](const RankTotals& group) {
    for (const OperationTotals& one : group.totals) {
      auto& [summary, ranks] = by_kind[{group.group, one.kind}];
      summary.group = group.name;
      summary.ranks = group.size;
      summary.kind = one.kind;
      summary.count = std::max(summary.count, one.count);
      summary.bytes = std::max(summary.bytes, one.bytes);
      summary.seconds += static_cast<double>(one.time_ns) / kNsPerSecond;
      summary.exposed_seconds += static_cast<double>(one.exposed_ns) / kNsPerSecond;
      ++ranks;
    }
  };
  for (const Groups& groups : groups_) {
    for (const auto& [id, group] : groups.by_id) add(group.totals);
    if (groups.others) add(*groups.others);
  }
  std::vector<OperationSummary> operations;
  for (auto& [key, entry] : by_kind) {
    auto& [summary, ranks] = entry;
    summary.seconds /= ranks;
    summary.exposed_seconds /= ranks;
    operations.push_back(std::move(summary));
  }
  std::ranges::stable_sort(operations, std::greater(), &OperationSummary::exposed_seconds);
  return operations;
}

// An operation that one rank alone has called says nothing about waits.
void JobAccount::settle(MatchedOperation& operation) {
  if (operation.calls.size() < 2) return;
  find_waits(operation.calls);
  const auto weight = static_cast<double>(operation.weight);
  for (const OperationCall& call : operation.calls) {
    const Wait wait{.called_ns = call.sample.called_ns,
                    .ended_ns = call.sample.ended_ns,
                    .exposed_ns = weight * static_cast<double>(call.sample.exposed_ns),
                    .waiting_ns = weight * static_cast<double>(call.waited_ns),
                    .waited_for = call.waited_for};
    const auto rank = static_cast<std::size_t>(call.rank);
    all_.add(rank, wait);
    undecided_[rank].push_back(wait);
    if (undecided_[rank].size() > kMostUndecided) undecided_[rank].pop_front();
    if (readings_[rank]) decide(rank);
  }
}

std::optional<JobSummary> JobAccount::summary() const {
  JobSummary summary{.job_ranks = static_cast<int>(readings_.size())};
  summary.has_steps =
      std::ranges::any_of(readings_, [](const auto& one) { return one && one->steps.steps > 0; });
  const Waits& waits = summary.has_steps ? in_steps_ : all_;
  Divided all;
  for (std::size_t rank = 0; rank < readings_.size(); ++rank) {
    if (!readings_[rank]) continue;
    const RankReading& reading = *readings_[rank];
    if (summary.has_steps ? reading.steps.steps == 0 : !has_joined(reading)) continue;
    Divided time = summary.has_steps ? divided_steps(reading.steps) : divided_life(reading);
    const double exposed_ns = waits.exposed_ns[rank];
    const double ratio = exposed_ns > 0 ? waits.waiting_ns[rank] / exposed_ns : 0;
    time.of(Spent::kWaiting) = std::min(1.0, ratio) * time.of(Spent::kMoving);
    time.of(Spent::kMoving) -= time.of(Spent::kWaiting);
    ++summary.ranks;
    summary.repeats_input |= reading.repeats_input;
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
  const std::vector<double>& waited_for_ns = waits.waited_for_ns;
  const double blamed = std::accumulate(waited_for_ns.begin(), waited_for_ns.end(), 0.0);
  for (std::size_t rank = 0; rank < waited_for_ns.size() && blamed > 0; ++rank)
    if (waited_for_ns[rank] > 0)
      summary.waited_for.emplace_back(
          static_cast<int>(rank), summary.share(Spent::kWaiting) * waited_for_ns[rank] / blamed);
  std::ranges::stable_sort(summary.waited_for, std::greater(), &std::pair<int, double>::second);
  summary.blocks = series_.blocks();
  summary.operations = operations();
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
    own.other = share_of(to.steps.part(StepPart::kOther), to.steps.wall);
    if (!summary.has_steps && has_joined(to))
      own.compute = 1 - share_of(to.exposed, to.until - to.joined);
    const Duration between = to.use.time - from.use.time;
    own.running = share_of(to.use.running - from.use.running, between);
    own.resident_kib = static_cast<double>(to.use.resident_kib);
    own.queued = share_of(to.use.queued - from.use.queued, between);
    own.throttled = share_of(to.use.throttled - from.use.throttled, between);
    own.stopped = share_of(to.use.stopped - from.use.stopped, between);
    own.blocked = share_of(to.use.blocked - from.use.blocked, between);
    if (between <= Duration::zero()) continue;
    own.major_faults_per_s = kNsPerSecond *
                             static_cast<double>(to.use.major_faults - from.use.major_faults) /
                             ns(between);
    for (std::size_t i = 0; i < kHostFigures; ++i) {
      const auto figure = static_cast<HostFigure>(i);
      const auto first = from.use.figures.get(figure), last = to.use.figures.get(figure);
      if (first && last)
        own.figures.set(figure, std::max(0.0, kNsPerSecond * (*last - *first) / ns(between)));
    }
  }
  return evidence;
}

}  // namespace paceline
