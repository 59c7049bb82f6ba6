// The rules by which a simulated job must have ended.
#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

#include "launcher/system/exit_status.h"
#include "tests/acceptance/job/simulation/simulated_job.h"

namespace paceline::launcher::testing {

bool SimulatedJob::can_end_by(StopCause cause) const {
  const auto had = [this](std::initializer_list<Mishap> any) {
    return std::ranges::any_of(
        any, [this](Mishap one) { return std::ranges::count(plan_.mishaps, one) > 0; });
  };
  switch (cause) {
    case StopCause::kRankFailed:
      return had(
          {Mishap::kRankFails, Mishap::kRankKilled, Mishap::kAskedToEnd, Mishap::kAgentFails});
    case StopCause::kRefused:
      return had({Mishap::kRefused});
    case StopCause::kTimeout:
      return had({Mishap::kTimeout});
    case StopCause::kInterrupt:
      return had({Mishap::kSignal});
    case StopCause::kTerminate:
      return had({Mishap::kSignal, Mishap::kAskedToEnd});
    case StopCause::kHangUp:
      return false;
    case StopCause::kOutputClosed:
      return had({Mishap::kOutputBroke});
    case StopCause::kLauncher:
      return had({Mishap::kAgentLost, Mishap::kAgentSilent, Mishap::kAgentFails,
                  Mishap::kOutputBroke, Mishap::kLogFails});
  }
  return false;
}

void SimulatedJob::judge() {
  const JobState& state = machine_.state();
  if (!cause()) {
    if (ends_.size() != state.ranks.size() ||
        !std::ranges::all_of(ends_, [](const TrueEnd& end) { return end.wait_status == 0; }))
      return break_rule("the job ends well although not all ranks did");
    if (exit_code() != 0) return break_rule("the job ends well, and its exit code is not 0");
  } else if (!can_end_by(*cause())) {
    return break_rule("nothing happened by which the job could end so");
  }
  for (const Agent& agent : agents_) {
    const bool is_named = std::ranges::any_of(
        state.faults.all(), [&](const HostFault& fault) { return fault.host == agent.name; });
    if (is_named && !agent.lost && !agent.failed)
      return break_rule("a host is named that was not lost");
    if (!agent.started || agent.lost) continue;
    if (!agent.finished) return break_rule("the job leaves a host that runs");
    if (std::ranges::any_of(agent.ranks, [](const Rank& rank) { return rank.running; }))
      return break_rule("the job leaves a rank that runs");
  }
  if (std::cmp_greater(state.epoch, plan_.max_restarts))
    return break_rule("the ranks were started again too often");
  if (log_.is_running() && !log_fails_)
    return break_rule("the log does not have the end of the last epoch");
  std::set<int> ended;
  for (const RankEnd& end : state.outcome.ends)
    if (!ended.insert(end.rank).second) return break_rule("the end of a rank counts twice");
  if (cause() == StopCause::kRankFailed) judge_culprit();
  if (cause() == StopCause::kLauncher) judge_lost_hosts();
}

// With a restart, a spare host for each that is lost, and most hosts left, the job goes on.
void SimulatedJob::judge_lost_hosts() {
  const bool is_by_hosts = std::ranges::none_of(plan_.mishaps, [](Mishap one) {
    return one == Mishap::kOutputBroke || one == Mishap::kLogFails;
  });
  const auto lost = static_cast<std::size_t>(
      std::ranges::count_if(agents_, [](const Agent& one) { return one.lost || one.failed; }));
  if (is_by_hosts && std::cmp_less(machine_.state().epoch, plan_.max_restarts) &&
      lost <= plan_.spares && 2 * lost <= hosts_.size() + 1)
    break_rule("the job ends although a restart and spare hosts are left");
}

void SimulatedJob::judge_culprit() {
  if (std::cmp_less(machine_.state().epoch, plan_.max_restarts))
    return break_rule("the job ends although a restart is left");
  const RankEnd& culprit = *machine_.state().outcome.culprit;
  const auto its =
      std::ranges::find(ends_, static_cast<std::uint32_t>(culprit.rank), &TrueEnd::rank);
  if (its == ends_.end() || its->wait_status == 0)
    return break_rule("the rank that is held responsible did not fail");
  if (its->by_order && std::ranges::any_of(ends_, [](const TrueEnd& end) {
        return end.wait_status != 0 && !end.by_order;
      }))
    return break_rule("a rank that was told to end is held responsible for it");
  if (exit_code() != exit_code_of(its->wait_status))
    return break_rule("the exit code is not that of the responsible rank");
  // Messages are faster than the head decides, so it knows of the first failure.
  const bool is_quick = plan_.max_delay < std::chrono::milliseconds(10) &&
                        std::ranges::count(plan_.mishaps, Mishap::kReadingPaused) == 0;
  const auto first =
      std::ranges::find_if(ends_, [](const TrueEnd& end) { return end.wait_status != 0; });
  if (is_quick && first->rank != its->rank && first->when != its->when)
    break_rule("rank " + std::to_string(first->rank) + " failed first, but rank " +
               std::to_string(its->rank) + " is held responsible");
}

}  // namespace paceline::launcher::testing
