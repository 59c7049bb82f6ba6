#include "launcher/control/performance.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

}  // namespace

v1::Performance performance_of(const JobSummary& summary) {
  v1::Performance performance;
  performance.set_rank_count(static_cast<std::uint32_t>(summary.ranks));
  performance.set_has_steps(summary.has_steps);
  performance.set_steps(summary.steps);
  performance.set_seconds(summary.seconds);
  performance.set_samples_per_second(summary.samples_per_s);
  performance.set_flop_per_second(summary.flop_per_s);
  for (std::size_t i = 0; i < kSpents; ++i) {
    v1::TimeShare& share = *performance.add_shares();
    share.set_name(std::string(name(static_cast<Spent>(i))));
    share.set_share(summary.shares[i]);
  }
  for (const auto& [rank, share] : summary.waited_for) {
    v1::WaitedFor& waited_for = *performance.add_waited_for();
    waited_for.mutable_member()->set_role("worker");
    waited_for.mutable_member()->set_index(static_cast<std::uint32_t>(rank));
    waited_for.set_share(share);
    waited_for.set_cause(std::string(words_of(summary.cause_of(rank))));
  }
  return performance;
}

JobSummary summary_of(const v1::Performance& performance, int ranks) {
  JobSummary summary{.ranks = static_cast<int>(performance.rank_count()),
                     .job_ranks = ranks,
                     .has_steps = performance.has_steps(),
                     .steps = performance.steps(),
                     .seconds = performance.seconds(),
                     .samples_per_s = performance.samples_per_second(),
                     .flop_per_s = performance.flop_per_second()};
  for (const v1::TimeShare& share : performance.shares())
    if (const auto spent = spent_named(share.name()))
      summary.shares[static_cast<std::size_t>(*spent)] = share.share();
  for (const v1::WaitedFor& one : performance.waited_for()) {
    const auto rank = static_cast<int>(one.member().index());
    if (rank < 0 || rank >= ranks) continue;
    summary.waited_for.emplace_back(rank, one.share());
    if (const auto cause = cause_of_words(one.cause()))
      summary.stragglers.push_back({.rank = rank, .waited_for = one.share(), .cause = *cause});
  }
  return summary;
}

}  // namespace paceline::launcher
