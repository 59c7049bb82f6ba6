#include "telemetry/job/job_trace.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <numeric>
#include <unordered_map>

#include "comm/base/text.h"

namespace paceline {
namespace {

constexpr int kJobProcess = 1, kFirstHost = 2;
constexpr TraceThread kJobThread{.process = kJobProcess, .thread = kJobProcess};
// A thread has the number of its rank in the last digits. No process has such a number.
constexpr int kThreadsOfLane = 100000;

// Agents tell in turn what happened in the last second. So an operation may be known before an
// earlier one.
constexpr Duration kSettling = std::chrono::seconds(2);
constexpr std::size_t kMostPendingCalls = 1 << 16;
constexpr Duration kLeastWait = std::chrono::microseconds(1);

// About what a call takes in the file without the name of its group, and an event of another kind.
constexpr std::size_t kCallBytes = 420, kEventBytes = 150;
constexpr std::size_t kMostGroupName = 64;
// Ends of ranks may take bytes of later events: those of 500 ranks are always in the trace.
constexpr double kDebtOfEnds = 225e3;
// Parts of steps get this share of the budget.
constexpr double kShareOfParts = 0.25;

// Readings come once a second.
Duration parts_every(std::size_t ranks) {
  const std::chrono::duration<double> rare(static_cast<double>(ranks * kEventBytes) /
                                           (kShareOfParts * TraceBudget::kBytesPerS));
  return std::max<Duration>(std::chrono::milliseconds(500),
                            std::chrono::duration_cast<Duration>(rare));
}

// Keeps a part of the ranks, another one for each operation, and those for which they wait.
void thin_out(std::vector<OperationCall>& calls) {
  if (calls.size() <= JobTrace::kMostCalls) return;
  const std::size_t stride = 1 + (calls.size() - 1) / JobTrace::kMostCalls;
  std::ranges::sort(calls, {}, &OperationCall::rank);
  std::set<int> kept;
  for (std::size_t i = calls.front().sample.sequence % stride; i < calls.size(); i += stride) {
    kept.insert(calls[i].rank);
    kept.insert(calls[i].waited_for);
  }
  std::erase_if(calls, [&kept](const OperationCall& call) { return !kept.contains(call.rank); });
}

TraceArguments arguments_of(const OperationCall& call, const std::string& group) {
  TraceArguments arguments;
  arguments.add("group", group.empty() ? "all ranks" : group);
  arguments.add("sequence", call.sample.sequence).add("bytes", call.sample.bytes);
  arguments.add("exposed_us", Duration(call.sample.exposed_ns));
  if (call.waited_for < 0) return arguments;
  return arguments.add("waited_us", Duration(call.waited_ns))
      .add("waited_for", static_cast<std::uint64_t>(call.waited_for));
}

TraceArguments parts_text(const std::array<double, kStepParts>& shares) {
  TraceArguments arguments;
  for (std::size_t i = 0; i < kStepParts; ++i)
    arguments.add(name(static_cast<StepPart>(i)), shares[i]);
  return arguments;
}

std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

JobTrace::JobTrace(TimePoint begin, std::string_view name, std::size_t most_bytes)
    : begin_(begin), budget_(begin, most_bytes), samples_since_(begin) {
  text_.name_process(kJobProcess, name);
  text_.name_thread(kJobThread, "job", 0);
}

// ---- Processes and threads -----------------------------------------------------------------

int JobTrace::process_of(const std::string& host) {
  const int next = kFirstHost + static_cast<int>(hosts_.size());
  const auto [place, is_new] = processes_.try_emplace(host, next);
  if (is_new) hosts_.push_back(host);
  return place->second;
}

TraceThread JobTrace::thread_of(int rank, std::size_t lane) {
  const TraceThread thread{.process = ranks_[static_cast<std::size_t>(rank)].process,
                           .thread = kThreadsOfLane * (static_cast<int>(lane) + 1) + rank};
  if (named_threads_.emplace(thread.process, thread.thread).second) {
    if (named_processes_.insert(thread.process).second) {
      text_.name_process(thread.process,
                         "host " + hosts_[static_cast<std::size_t>(thread.process - kFirstHost)]);
      label_clock(thread.process);
    }
    const std::string overlapping = lane == 0 ? "" : " overlapping " + std::to_string(lane);
    text_.name_thread(thread, rank_text(rank) + overlapping,
                      rank * static_cast<int>(kLanes) + static_cast<int>(lane));
  }
  return thread;
}

// Known when the process gets its name, and better known at the end.
void JobTrace::label_clock(int process) {
  const auto error = clock_errors_.find(process);
  if (error == clock_errors_.end()) return;
  const std::chrono::duration<double, std::micro> us = error->second;
  text_.label_process(process, "clock error " + time_text(us.count()));
}

// ---- Events of the job ---------------------------------------------------------------------

// Operations that are left belong to the hosts of the start before.
void JobTrace::begin_start(TimePoint now, std::vector<std::string> hosts, std::string_view what) {
  if (ended_) return;
  write_operations(Duration::max());
  next_.reset();
  ranks_.resize(hosts.size());
  parts_every_ = parts_every(hosts.size());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    Rank& rank = ranks_[i];
    rank.process = process_of(hosts[i]);
    rank.shown.reset();
    rank.latest.reset();
    ended_per_s_ += std::exchange(rank.samples_per_s, 0);
    // They take turns.
    rank.shown_when = now - parts_every_ + parts_every_ / hosts.size() * i;
  }
  note(now, what);
}

void JobTrace::note(TimePoint now, std::string_view what) {
  if (!ended_) text_.global_instant(kJobThread, what, after_begin(now));
}

void JobTrace::rank_ended(TimePoint now, int rank, std::string_view how) {
  if (ended_) return;
  Rank& one = ranks_[static_cast<std::size_t>(rank)];
  ended_per_s_ += std::exchange(one.samples_per_s, 0);
  if (!budget_.has(text_.size() + 3 * kEventBytes, kDebtOfEnds)) return;
  if (one.latest) {
    show_parts(rank, *one.latest);
    text_.counter(thread_of(rank, 0), rank_text(rank), one.latest->at, parts_text({}));
  }
  text_.instant(thread_of(rank, 0), rank_text(rank) + " " + std::string(how), after_begin(now));
}

// ---- Parts of steps ------------------------------------------------------------------------

std::optional<JobTrace::Progress> JobTrace::progress_of(const RankReading& reading) const {
  if (reading.steps.steps > 0)
    return Progress{.has_steps = true,
                    .at = after_begin(TimePoint(Duration(reading.end_ns))),
                    .of_host = Duration(reading.end_ns) + reading.ahead,
                    .steps = reading.steps.steps,
                    .parts = reading.steps.parts,
                    .samples = reading.steps.samples};
  if (reading.joined == TimePoint{} || reading.until < reading.joined) return std::nullopt;
  Progress life{.at = after_begin(reading.until),
                .of_host = reading.until.time_since_epoch() + reading.ahead};
  const Duration exposed = std::min(reading.exposed, reading.until - reading.joined);
  life.parts[static_cast<std::size_t>(StepPart::kCommunication)] = exposed;
  life.parts[static_cast<std::size_t>(StepPart::kCompute)] =
      reading.until - reading.joined - exposed;
  return life;
}

JobTrace::Progress JobTrace::first_progress_of(const RankReading& reading) const {
  const bool has_steps = reading.steps.steps > 0;
  const TimePoint first = has_steps ? TimePoint(Duration(reading.begin_ns)) : reading.joined;
  return {.has_steps = has_steps,
          .at = after_begin(first),
          .of_host = first.time_since_epoch() + reading.ahead};
}

// A rank writes the memory that its agent reads. So times may be nonsense.
void JobTrace::take(TimePoint now, int rank, const RankReading& reading) {
  if (ended_) return;
  Rank& one = ranks_[static_cast<std::size_t>(rank)];
  ahead_[one.process] = reading.ahead;
  if (reading.clock_error) clock_errors_[one.process] = *reading.clock_error;
  std::optional<Progress> progress = progress_of(reading);
  if (!progress || progress->at > now - begin_) return;
  const bool is_new = !one.latest || one.latest->has_steps != progress->has_steps ||
                      one.latest->steps > progress->steps ||
                      one.latest->samples > progress->samples;
  if (is_new) one.shown = one.latest = first_progress_of(reading);
  if (progress->has_steps && progress->steps == one.latest->steps) {
    // In a stall there are at most the samples of one step since the last one.
    const std::chrono::duration<double> since = reading.until - TimePoint(Duration(reading.end_ns));
    if (since.count() * one.samples_per_s > one.samples_a_step)
      set_samples_per_s(one, one.samples_a_step / since.count());
    return;
  }
  const std::chrono::duration<double> elapsed = progress->of_host - one.latest->of_host;
  if (elapsed.count() <= 0) return;
  const auto samples = static_cast<double>(progress->samples - one.latest->samples);
  set_samples_per_s(one, samples / elapsed.count());
  if (progress->has_steps)
    one.samples_a_step = samples / static_cast<double>(progress->steps - one.latest->steps);
  progress->at = std::max(progress->at, one.latest->at);
  one.latest = progress;
  if (now - one.shown_when < parts_every_) return;
  show_parts(rank, *progress);
  one.shown_when = now;
}

void JobTrace::set_samples_per_s(Rank& rank, double rate) {
  samples_per_s_ += rate - std::exchange(rank.samples_per_s, rate);
}

// The values hold from the moment up to which the last ones were.
void JobTrace::show_parts(int rank, const Progress& to) {
  Rank& one = ranks_[static_cast<std::size_t>(rank)];
  std::array<double, kStepParts> shares{};
  for (std::size_t i = 0; i < kStepParts; ++i)
    shares[i] = std::max(0.0, static_cast<double>((to.parts[i] - one.shown->parts[i]).count()));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (sum > 0) {
    for (double& share : shares) share /= sum;
    text_.counter(thread_of(rank, 0), rank_text(rank), one.shown->at, parts_text(shares));
  }
  one.shown = to;
}

void JobTrace::show_samples(TimePoint now) {
  const TimePoint since = std::exchange(samples_since_, now);
  const double rate = samples_per_s_ < 0.5 ? 0 : samples_per_s_;  // sums are not exact
  samples_per_s_ -= std::exchange(ended_per_s_, 0);
  if (std::exchange(shown_samples_per_s_, rate) == rate) return;
  text_.counter(kJobThread, "samples/s", after_begin(since), TraceArguments().add("all", rate));
}

// ---- Operations ----------------------------------------------------------------------------

// A rank writes the memory that its agent reads. So times may be nonsense.
void JobTrace::take(TimePoint now, MatchedOperation operation) {
  if (ended_ || operation.calls.empty()) return;
  thin_out(operation.calls);
  const auto& calls = operation.calls;
  const auto time_of = [this](std::int64_t ns) { return TimePoint(Duration(ns)) - begin_; };
  Pending one{.level = OperationBook::level_of(calls.front().sample.sequence),
              .begin = Duration::max()};
  for (const OperationCall& call : calls) {
    one.begin = std::min(one.begin, time_of(call.sample.called_ns));
    one.end = std::max(one.end, time_of(call.sample.ended_ns));
  }
  const bool has_room = pending_calls_ + calls.size() <= kMostPendingCalls;
  if (one.end > now - begin_ || !has_room) return;
  pending_calls_ += calls.size();
  operation.group = operation.group.substr(0, kMostGroupName);
  one.operation = std::move(operation);
  pending_.push_back(std::move(one));
}

// Those with the highest levels come first: half of all operations have level 0, and so on. The
// first that has no room is the first the next time, so large groups are not left out.
void JobTrace::write_operations(Duration settled_by) {
  std::vector<Pending> chosen;
  if (next_) chosen.push_back(*std::exchange(next_, std::nullopt));
  const std::size_t before = chosen.size();
  const auto rest =
      std::stable_partition(pending_.begin(), pending_.end(),
                            [settled_by](const Pending& one) { return one.end > settled_by; });
  std::move(rest, pending_.end(), std::back_inserter(chosen));
  pending_.erase(rest, pending_.end());
  std::stable_sort(
      chosen.begin() + static_cast<std::ptrdiff_t>(before), chosen.end(),
      [](const Pending& one, const Pending& other) { return one.level > other.level; });
  for (std::size_t i = before; i < chosen.size(); ++i)
    pending_calls_ -= chosen[i].operation.calls.size();
  std::size_t bytes = text_.size();
  const auto first_left = std::ranges::find_if(chosen, [&](const Pending& one) {
    bytes += one.operation.calls.size() * (kCallBytes + one.operation.group.size());
    return !budget_.has(bytes);
  });
  if (first_left != chosen.end()) next_ = std::move(*first_left);
  chosen.erase(first_left, chosen.end());
  std::ranges::stable_sort(chosen, {}, &Pending::begin);
  for (const Pending& one : chosen) write(one.operation);
}

// The clock of a host becomes known better with time, so calls may have been moved by different
// times. Here all are moved alike. A flow needs the slices of both ranks, and an end before that of
// its slice. Clocks of hosts are not aligned exactly: if an operation seems to end before its last
// call, there is no flow.
void JobTrace::write(const MatchedOperation& operation) {
  struct Slice {
    TraceThread thread;
    Duration begin, end;
  };
  std::unordered_map<int, Slice> slices;  // by rank
  for (const OperationCall& call : operation.calls) {
    Rank& rank = ranks_[static_cast<std::size_t>(call.rank)];
    const auto known = ahead_.find(rank.process);
    const Duration moved = known == ahead_.end() ? Duration(0) : call.ahead - known->second;
    const auto time_of = [&](std::int64_t ns) {
      return after_begin(TimePoint(Duration(ns) + moved));
    };
    const Duration begin = time_of(call.sample.called_ns);
    const Duration end = std::max(time_of(call.sample.ended_ns), begin + Duration(1));
    auto& lanes = rank.lanes;
    const auto lane =
        std::ranges::find_if(lanes, [begin, end](TraceLane& one) { return one.take(begin, end); });
    if (lane == lanes.end()) continue;
    const TraceThread thread = thread_of(call.rank, static_cast<std::size_t>(lane - lanes.begin()));
    text_.slice(thread, name(call.sample.kind), begin, end - begin,
                arguments_of(call, operation.group));
    slices.insert_or_assign(call.rank, Slice{.thread = thread, .begin = begin, .end = end});
  }
  for (const OperationCall& call : operation.calls) {
    if (Duration(call.waited_ns) < kLeastWait) continue;
    const auto from = slices.find(call.waited_for), to = slices.find(call.rank);
    if (from == slices.end() || to == slices.end()) continue;
    const Duration when = std::max(from->second.begin, to->second.begin);
    if (when < to->second.end)
      text_.flow(next_flow_++, from->second.thread, from->second.begin, to->second.thread, when);
  }
}

// ---- The text ------------------------------------------------------------------------------

std::string JobTrace::text(TimePoint now) {
  if (ended_) return "";
  budget_.pass(now);
  write_operations(now - begin_ - kSettling);
  show_samples(now);
  if (budget_.is_at_its_end()) {
    note(now, "the trace ends here: it has its max size");
    text_.close();
    ended_ = true;
  }
  return take_text();
}

std::string JobTrace::end(TimePoint now) {
  if (std::exchange(ended_, true)) return "";
  budget_.pass(now);
  write_operations(Duration::max());
  show_samples(now);
  samples_per_s_ = 0;
  show_samples(now);
  for (const int process : named_processes_) label_clock(process);
  text_.close();
  return take_text();
}

std::string JobTrace::take_text() {
  std::string text = text_.take();
  budget_.spend(text.size());
  return text;
}

}  // namespace paceline
