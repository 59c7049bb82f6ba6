#include "launcher/control/interval.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

// Since the latest start of the ranks.
JobInterval until(const v1::Snapshot& snapshot) {
  const v1::Performance& performance = snapshot.performance();
  JobInterval all{.seconds = snapshot.elapsed_seconds(), .steps = performance.steps()};
  for (const v1::TimeShare& share : performance.shares())
    if (const auto part = spent_named(share.name()))
      all.spent[static_cast<std::size_t>(*part)] = share.share() * performance.seconds();
  for (const v1::Rank& rank : snapshot.ranks())
    all.samples += static_cast<double>(rank.work().samples());
  return all;
}

}  // namespace

double JobInterval::spent_seconds() const {
  return std::accumulate(spent.begin(), spent.end(), 0.0);
}

JobInterval interval_of(const v1::Snapshot& before, const v1::Snapshot& now) {
  JobInterval between = until(now);
  const JobInterval first = until(before);
  between.seconds -= first.seconds;
  if (before.epoch() != now.epoch()) return between;
  for (std::size_t i = 0; i < kSpents; ++i)
    between.spent[i] = std::max(0.0, between.spent[i] - first.spent[i]);
  between.samples = std::max(0.0, between.samples - first.samples);
  between.steps -= std::min(between.steps, first.steps);
  return between;
}

HostInterval host_interval_of(const v1::Snapshot& before, const v1::Snapshot& now, int host) {
  using Use = v1::HostUse;
  if (host >= before.hosts_size() || host >= now.hosts_size() ||
      before.hosts(host).name() != now.hosts(host).name())
    return {};
  const Use &first = before.hosts(host).use(), &last = now.hosts(host).use();
  const double seconds = last.time_seconds() - first.time_seconds();
  if (first.time_seconds() <= 0 || seconds <= 0) return {};
  const auto rate = [&](auto has, auto value) -> std::optional<double> {
    if (!(first.*has)() || !(last.*has)()) return std::nullopt;
    const auto from = static_cast<double>((first.*value)());
    return std::max(0.0, static_cast<double>((last.*value)()) - from) / seconds;
  };
  const auto sum = [](std::optional<double> one, std::optional<double> other) {
    return one && other ? std::optional(*one + *other) : std::nullopt;
  };
  return {.cpus_busy = rate(&Use::has_cpu_seconds, &Use::cpu_seconds),
          .cpu_stalled = rate(&Use::has_cpu_stalled_seconds, &Use::cpu_stalled_seconds),
          .memory_stalled = rate(&Use::has_memory_stalled_seconds, &Use::memory_stalled_seconds),
          .io_stalled = rate(&Use::has_io_stalled_seconds, &Use::io_stalled_seconds),
          .disk_bytes_per_s = sum(rate(&Use::has_read_bytes, &Use::read_bytes),
                                  rate(&Use::has_written_bytes, &Use::written_bytes)),
          .network_bytes_per_s = sum(rate(&Use::has_received_bytes, &Use::received_bytes),
                                     rate(&Use::has_sent_bytes, &Use::sent_bytes))};
}

std::optional<RankInterval> interval_of(const v1::Snapshot& before, const v1::Snapshot& now,
                                        int rank) {
  if (before.epoch() != now.epoch() || rank >= before.ranks_size() || rank >= now.ranks_size() ||
      !before.ranks(rank).has_work() || !now.ranks(rank).has_work())
    return std::nullopt;
  const v1::Work &first = before.ranks(rank).work(), &last = now.ranks(rank).work();
  const auto between = [&](double (v1::Work::*seconds)() const) {
    return std::max(0.0, (last.*seconds)() - (first.*seconds)());
  };
  return RankInterval{.seconds = now.elapsed_seconds() - before.elapsed_seconds(),
                      .compute = between(&v1::Work::compute_seconds),
                      .communication = between(&v1::Work::communication_seconds),
                      .input = between(&v1::Work::input_seconds),
                      .other = between(&v1::Work::other_seconds),
                      .running = between(&v1::Work::running_seconds),
                      .queued = between(&v1::Work::queued_seconds),
                      .stopped = between(&v1::Work::stopped_seconds),
                      .blocked = between(&v1::Work::blocked_seconds),
                      .throttled = between(&v1::Work::throttled_seconds)};
}

}  // namespace paceline::launcher
