#include "launcher/control/performance.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ranges>
#include <string>

#include "comm/base/text.h"
#include "launcher/control/host_use.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

constexpr std::size_t kMostLinks = 4096;

double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

v1::Performance performance_of(const JobSummary& summary) {
  v1::Performance performance;
  performance.set_rank_count(static_cast<std::uint32_t>(summary.ranks));
  performance.set_has_steps(summary.has_steps);
  performance.set_steps(summary.steps);
  performance.set_seconds(summary.seconds);
  performance.set_samples_per_second(summary.samples_per_s);
  performance.set_flop_per_second(summary.flop_per_s);
  performance.set_peak_flop_per_second(summary.peak_flop_per_s);
  if (const auto mfu = summary.mfu()) performance.set_mfu(*mfu);
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
  for (const OperationSummary& one : summary.operations) {
    v1::OperationTotal& total = *performance.add_operations();
    total.set_communicator(printable(one.group));
    total.set_rank_count(static_cast<std::uint32_t>(one.ranks));
    total.set_kind(std::string(name(one.kind)));
    total.set_count(one.count);
    total.set_bytes(one.bytes);
    total.set_seconds(one.seconds);
    total.set_exposed_seconds(one.exposed_seconds);
  }
  for (const LinkSummary& one : summary.links | std::views::take(kMostLinks)) {
    v1::Link& link = *performance.add_links();
    link.set_from(printable(one.from));
    link.set_to(printable(one.to));
    link.set_bytes(one.bytes);
    link.set_resent_bytes(one.resent_bytes);
    link.set_busy_seconds(one.busy_seconds);
    link.set_unanswered_seconds(one.unanswered_seconds);
    const auto slow = std::ranges::find(summary.slow_links, one, &SlowLink::link);
    if (slow != summary.slow_links.end()) link.set_usual_rate(slow->usual);
  }
  return performance;
}

v1::Work work_of(const RankReading& reading) {
  const auto part = [&](StepPart one) { return in_seconds(reading.steps.part(one)); };
  v1::Work work;
  work.set_steps(reading.steps.steps);
  work.set_samples(reading.steps.samples);
  work.set_compute_seconds(part(StepPart::kCompute));
  work.set_communication_seconds(part(StepPart::kCommunication));
  work.set_input_seconds(part(StepPart::kInput));
  work.set_other_seconds(part(StepPart::kOther));
  work.set_running_seconds(in_seconds(reading.use.running));
  work.set_queued_seconds(in_seconds(reading.use.queued));
  work.set_stopped_seconds(in_seconds(reading.use.stopped));
  work.set_blocked_seconds(in_seconds(reading.use.blocked));
  work.set_throttled_seconds(in_seconds(reading.use.throttled));
  work.set_major_faults(reading.use.major_faults);
  work.set_resident_bytes(reading.use.resident_kib * 1024);
  add_use(reading.use.figures, work);
  if (reading.use.gpu) work.set_gpu(*reading.use.gpu);
  return work;
}

JobSummary summary_of(const v1::Performance& performance, int ranks) {
  JobSummary summary{.ranks = static_cast<int>(performance.rank_count()),
                     .job_ranks = ranks,
                     .has_steps = performance.has_steps(),
                     .steps = performance.steps(),
                     .seconds = performance.seconds(),
                     .samples_per_s = performance.samples_per_second(),
                     .flop_per_s = performance.flop_per_second(),
                     .peak_flop_per_s = performance.peak_flop_per_second()};
  for (const v1::TimeShare& share : performance.shares())
    if (const auto spent = spent_named(share.name()))
      summary.shares[static_cast<std::size_t>(*spent)] = share.share();
  for (const v1::Link& one : performance.links()) {
    summary.links.push_back({.from = one.from(),
                             .to = one.to(),
                             .bytes = one.bytes(),
                             .resent_bytes = one.resent_bytes(),
                             .busy_seconds = one.busy_seconds()});
    if (one.usual_rate() > 0)
      summary.slow_links.push_back({.link = summary.links.back(), .usual = one.usual_rate()});
  }
  std::ranges::sort(summary.slow_links, {}, [](const SlowLink& slow) { return slow.link.rate(); });
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
