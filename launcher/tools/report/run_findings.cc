#include "launcher/tools/report/run_findings.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include "launcher/registry/run_text.h"
#include "launcher/tools/report/change_point.h"
#include "launcher/tools/report/operation_speed.h"
#include "launcher/tools/report/report_words.h"

namespace paceline::launcher {
namespace {

constexpr double kWorthSaying = 0.02;    // of the time in steps
constexpr double kMuchWithoutCpu = 0.1;  // of the time of most ranks
constexpr double kMuchOutside = 0.1;     // of the time of the run, and
constexpr double kLongOutsideS = 10;
constexpr double kSmallBytes = 64 << 10;

double share_of(const RunFigures& figures, Spent spent) {
  const auto found = figures.shares.find(std::string(name(spent)));
  return found == figures.shares.end() ? 0 : found->second;
}

// The time that is divided. Without steps it is about that of the run.
double seconds_of(const RunEntry& run) {
  const RunFigures& figures = *run.figures;
  return figures.has_steps ? static_cast<double>(figures.steps) * figures.step_seconds
                           : run.seconds;
}

std::string place_of(const WaitedFor& rank, const RunEntry& run) {
  return "rank " + std::to_string(rank.rank) + (run.hosts.size() > 1 ? " on " + rank.host : "");
}

std::string advice_for(Cause cause) {
  switch (cause) {
    case Cause::kUnknown:
      break;
    case Cause::kComputesLonger:
      return "Give this rank less work, or compare its host with the others by `paceline check`.";
    case Cause::kInput:
      return "Read the input of this rank ahead of time, or from a faster disk.";
    case Cause::kThrottled:
      return "Raise the CPU quota of its control group, or start fewer threads there.";
    case Cause::kNoCpu:
      return "End other programs on its host, or give the rank CPUs of its own (--bind-to core).";
    case Cause::kStopped:
      return "Find the program that stops it, such as a debugger or a batch system.";
    case Cause::kMemory:
      return "Give its host more memory, or raise the memory limit of its control group.";
    case Cause::kBlocked:
      return "Examine the disks and file systems that this rank uses.";
    case Cause::kLink:
      return "Examine the slow link to its host by `paceline check`.";
    case Cause::kOther:
      return "Write checkpoints in the background, or divide them among the ranks.";
  }
  return "Compare this rank with the others in the table of ranks.";
}

using Findings = std::vector<RunFinding>;

// Ranks with a cause are stragglers; other waits are spread over ranks.
void add_waits(const RunEntry& run, double seconds, Findings& found) {
  double spread = share_of(*run.figures, Spent::kWaiting);
  const WaitedFor* most = nullptr;
  for (const WaitedFor& one : run.figures->waited_for) {
    if (one.cause.empty()) {
      if (most == nullptr) most = &one;
      continue;
    }
    spread -= one.share;
    if (one.share < kWorthSaying) continue;
    found.push_back({.what = share_words(one.share) + " of the time was lost to waiting for " +
                             place_of(one, run) + ": " + one.cause,
                     .advice = advice_for(cause_of_words(one.cause).value_or(Cause::kUnknown)),
                     .lost_s = one.share * seconds});
  }
  if (spread < kWorthSaying) return;
  std::string what = share_words(spread) + " of the time was lost to waiting for ranks";
  if (most != nullptr && most->share >= spread / 2)
    what += ", most of it for " + place_of(*most, run);
  else
    what += ", now for one and now for another";
  found.push_back({.what = what,
                   .advice = "Give all ranks as much work in each step, or synchronise less often "
                             "(larger batches).",
                   .lost_s = spread * seconds});
}

bool moves_data(const OperationSummary& one) {
  return one.kind != OperationKind::kClose && one.kind != OperationKind::kBarrier;
}

void add_moving(const RunFigures& figures, double seconds, Findings& found) {
  const double share = share_of(figures, Spent::kMoving);
  if (share < kWorthSaying) return;
  RunFinding finding{.what = "Moving data costs " + share_words(share) + " of the time",
                     .advice =
                         "Overlap the operation with computation (all_reduce_async, "
                         "GradientPipeline), or find a slow link by `paceline check`.",
                     .lost_s = share * seconds};
  if (!figures.slow_links.empty()) {
    finding.what += "; " + words_of(figures.slow_links);
    finding.advice = "Examine that link by `paceline check`: its cable, port and switch.";
  } else if (const auto found_most = std::ranges::find_if(figures.operations, moves_data);
             found_most != figures.operations.end()) {
    const OperationSummary& most = *found_most;
    finding.what += ": " + operation_words(std::string(name(most.kind)), most.group) +
                    " has the most exposed time";
    if (const auto speed = speed_of(most)) {
      finding.what += ", for " + bytes_words(speed->bytes * static_cast<double>(most.count)) +
                      " at " + number_words(speed->busbw_gbps.value_or(speed->algbw_gbps)) +
                      " GB/s" + (speed->busbw_gbps ? " (busbw)" : " (algbw)");
      const bool is_often = figures.has_steps && most.count > 4 * figures.steps;
      if (speed->bytes < kSmallBytes && is_often)
        finding.advice = "Combine small operations: each moves " + bytes_words(speed->bytes) +
                         " only (GradientPipeline does that).";
    }
  }
  found.push_back(std::move(finding));
}

void add_parts(const RunFigures& figures, double seconds, Findings& found) {
  if (const double share = share_of(figures, Spent::kInput); share >= kWorthSaying)
    found.push_back({.what = "Input takes " + share_words(share) + " of the time",
                     .advice = "Load the next batch while a step computes, or use more loaders.",
                     .lost_s = share * seconds});
  if (const double share = share_of(figures, Spent::kOther); share >= kWorthSaying)
    found.push_back({.what = "Work outside of computation, such as checkpoints and logs, takes " +
                             share_words(share) + " of the time",
                     .advice = "Do it less often, or in another thread.",
                     .lost_s = share * seconds});
}

// The median; for two ranks the lower value.
double median(const std::vector<RankEvidence>& ranks, double RankEvidence::*field) {
  std::vector<double> values;
  for (const RankEvidence& rank : ranks) values.push_back(rank.*field);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Finds CPUs that most ranks lack. If one rank lacks them, it is a straggler.
void add_missing_cpus(const RunFigures& figures, double seconds, Findings& found) {
  if (figures.ranks.empty()) return;
  const double queued = median(figures.ranks, &RankEvidence::queued);
  if (queued < kMuchWithoutCpu) return;
  const bool is_quota = median(figures.ranks, &RankEvidence::throttled) >= queued / 2;
  const std::string who = figures.ranks.size() == 1 ? "The rank was" : "Most ranks were";
  found.push_back(
      {.what = who + " ready to run but had no CPU for " + share_words(queued) + " of the time" +
               (is_quota ? ", by a CPU quota" : ""),
       .advice = is_quota ? "Raise the CPU quota of the control group, or start fewer threads."
                          : "Start fewer ranks or threads on each host, or end other programs.",
       .lost_s = queued * seconds});
}

void add_slower_computation(const RunEntry& run, const std::optional<RunEntry>& baseline,
                            double seconds, Findings& found) {
  if (!run.figures->is_measured || !baseline || !baseline->figures) return;
  const double slower = share_of(*run.figures, Spent::kCompute) -
                        run.figures->efficiency * share_of(*baseline->figures, Spent::kCompute);
  if (slower < kWorthSaying) return;
  found.push_back({.what = "Slower computation costs " + share_words(slower) +
                           " of the time: a sample takes longer to compute than in the one-rank "
                           "run " +
                           short_id(*baseline),
                   .advice = "Ranks share CPUs or memory bandwidth; start fewer of them on each "
                             "host, or see `paceline run --report-bindings`.",
                   .lost_s = slower * seconds});
}

void add_change(const RunFigures& figures, Findings& found) {
  if (figures.blocks.size() < 2) return;
  const StepBlock& warm_up = figures.blocks.front();
  const auto change = change_point(std::span(figures.blocks).subspan(1));
  if (!change) return;
  const bool is_slower = change->after_s > change->before_s;
  const std::string when = duration_words(change->at_s + warm_up.seconds()) + " of steps";
  const double more =
      is_slower ? change->after_s / change->before_s : change->before_s / change->after_s;
  found.push_back(
      {.what = is_slower ? "Steps became " + share_words(more - 1) + " slower after " + when
                         : "Steps took " + share_words(more - 1) + " longer in the first " + when,
       .advice = "Look for the reason at that time; the part that changed most is " +
                 std::string(name(change->part)) + ".",
       .lost_s = change->lost_s});
}

void add_time_outside(const RunEntry& run, double seconds, Findings& found) {
  const double outside = run.seconds - seconds;
  if (outside < kLongOutsideS || outside < kMuchOutside * run.seconds) return;
  std::string what = duration_words(outside) + " of the " + duration_words(run.seconds) +
                     " of the run are not part of its steps";
  std::string advice = "Look at the start and the end of the program: loading, compiling, saving.";
  if (run.restarts > 0) {
    what += ": the ranks were started again " +
            (run.restarts == 1 ? std::string("once") : std::to_string(run.restarts) + " times");
    advice = "Find the reason of the restarts; the figures are of the latest start.";
  }
  found.push_back({.what = std::move(what), .advice = std::move(advice), .lost_s = outside});
}

// What the figures cannot say yet.
void add_missing_figures(const RunEntry& run, Findings& found) {
  if (run.ablated.is_any()) return;
  const RunFigures& figures = *run.figures;
  if (!figures.has_steps)
    found.push_back({.what = "The program marks no steps, so computation, input and other work "
                             "cannot be told apart",
                     .advice = "Mark them: three lines of code (docs/telemetry.md)."});
  else if (run.ranks > 1 && figures.samples_per_s <= 0)
    found.push_back({.what = "The efficiency of " + share_words(figures.efficiency) +
                             " is an estimate, since the program marks no samples",
                     .advice = "Give end_step() the number of samples."});
  else if (run.ranks > 1 && !figures.is_measured)
    found.push_back({.what = "The efficiency of " + share_words(figures.efficiency) +
                             " is an estimate: compute time / step time",
                     .advice = "Run the command once with -n 1, then again with all ranks, to "
                               "measure it."});
}

}  // namespace

std::vector<RunFinding> findings_of(const RunEntry& run, const std::optional<RunEntry>& baseline) {
  const RunFigures& figures = *run.figures;
  const double seconds = seconds_of(run);
  Findings found;
  add_waits(run, seconds, found);
  add_moving(figures, seconds, found);
  add_missing_cpus(figures, seconds, found);
  if (figures.has_steps) {
    add_parts(figures, seconds, found);
    add_slower_computation(run, baseline, seconds, found);
    add_change(figures, found);
    add_time_outside(run, seconds, found);
  }
  if (found.empty())
    found.push_back({.what = "Nothing stands out: compute is " +
                             share_words(share_of(figures, Spent::kCompute)) + " of the time",
                     .advice = {}});
  std::ranges::stable_sort(found, std::greater(), &RunFinding::lost_s);
  add_missing_figures(run, found);
  if (found.size() > kMostFindings) found.resize(kMostFindings);
  return found;
}

}  // namespace paceline::launcher
