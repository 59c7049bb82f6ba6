#include "tests/acceptance/telemetry/replay/variation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "comm/base/random.h"

namespace paceline::launcher {
namespace {

constexpr double kLost = 0.05;
constexpr std::uint64_t kMostDelayNs = 500'000'000;
constexpr std::uint64_t kMostOffsetNs = 3'600'000'000'000;
constexpr double kMostDrift = 15e-6;  // as ClockAlignment::kDrift, which is of two clocks
constexpr std::int64_t kMicrosecond = 1000, kMillisecond = 1'000'000;
constexpr std::uint64_t kKiB = 1024;

template <class Number>
Number rounded(Number value, Number grain) {
  return value - value % grain;
}

// What a host's clock is ahead in addition. Times that are not known, which are 0, stay so.
struct Clock {
  std::int64_t offset_ns = 0, begin_ns = 0;
  double drift = 0;

  std::int64_t shift(std::int64_t time_ns) const {
    return offset_ns + std::llround(drift * static_cast<double>(time_ns - begin_ns));
  }
  std::int64_t shifted(std::int64_t time_ns) const {
    return time_ns == 0 ? 0 : time_ns + shift(time_ns);
  }
};

void shift(messages::RankMeasured& measured, const Clock& clock) {
  measured.set_time_ns(clock.shifted(measured.time_ns()));
  measured.set_joined_ns(clock.shifted(measured.joined_ns()));
  measured.mutable_steps()->set_begin_ns(clock.shifted(measured.steps().begin_ns()));
  measured.mutable_steps()->set_end_ns(clock.shifted(measured.steps().end_ns()));
  if (measured.has_usage())
    measured.mutable_usage()->set_time_ns(clock.shifted(measured.usage().time_ns()));
  for (messages::SampledOperations& group : *measured.mutable_sampled())
    for (messages::OperationSample& sample : *group.mutable_samples()) {
      sample.set_called_ns(clock.shifted(sample.called_ns()));
      sample.set_ended_ns(clock.shifted(sample.ended_ns()));
    }
}

void shift(messages::HostMeasured& host, const Clock& clock) {
  if (host.has_clock())
    host.mutable_clock()->set_ahead_ns(host.clock().ahead_ns() + clock.shift(host.time_ns()));
  host.set_time_ns(clock.shifted(host.time_ns()));
}

void round_sums(messages::RankMeasured& measured) {
  messages::Steps& steps = *measured.mutable_steps();
  for (std::int64_t& part : *steps.mutable_part_ns()) part = rounded(part, 10 * kMicrosecond);
  steps.set_exposed_ns(rounded(steps.exposed_ns(), 10 * kMicrosecond));
  if (!measured.has_usage()) return;
  messages::RankUsage& usage = *measured.mutable_usage();
  const std::int64_t tick = 10 * kMillisecond;  // of a kernel with HZ=100
  usage.set_run_ns(rounded(usage.run_ns(), tick));
  usage.set_queued_ns(rounded(usage.queued_ns(), tick));
  usage.set_throttled_ns(rounded(usage.throttled_ns(), tick));
  usage.set_stopped_ns(rounded(usage.stopped_ns(), tick));
  usage.set_blocked_ns(rounded(usage.blocked_ns(), tick));
}

void round_sums(messages::LinksMeasured& links) {
  for (messages::LinkUse& link : *links.mutable_links()) {
    link.set_bytes(rounded(link.bytes(), kKiB));
    link.set_resent_bytes(rounded(link.resent_bytes(), kKiB));
    link.set_busy_ns(rounded(link.busy_ns(), kMillisecond));
  }
}

class Variation {
 public:
  explicit Variation(std::uint64_t seed) : random_(seed) {}

  VariedEvidence take(const std::vector<messages::EvidenceItem>& items) {
    for (const messages::EvidenceItem& item : items) {
      if (item.has_start()) begin(item);
      if (item.has_said()) say(item);
    }
    std::ranges::stable_sort(varied_.items, {}, &messages::EvidenceItem::time_ns);
    return std::move(varied_);
  }

 private:
  void begin(const messages::EvidenceItem& item) {
    messages::EvidenceItem& start = varied_.items.emplace_back(item);
    start.set_time_ns(std::max(item.time_ns(), latest_ns_));
    const auto& hosts = item.start().rank_hosts();
    std::vector<std::uint32_t>& ranks = varied_.ranks;
    ranks.resize(static_cast<std::size_t>(hosts.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    for (std::size_t left = ranks.size(); left > 1; --left)
      std::swap(ranks[left - 1], ranks[random_.below(left)]);
    for (int rank = 0; rank < hosts.size(); ++rank)
      start.mutable_start()->set_rank_hosts(static_cast<int>(ranks[static_cast<std::size_t>(rank)]),
                                            hosts[rank]);
  }

  const Clock& clock_of(const messages::EvidenceItem& item) {
    const auto [place, is_new] = clocks_.try_emplace(item.said().host());
    if (is_new)
      place->second = {.offset_ns = static_cast<std::int64_t>(random_.below(kMostOffsetNs)),
                       .begin_ns = item.time_ns(),
                       .drift = kMostDrift * (2 * random_.unit() - 1)};
    return place->second;
  }

  void say(const messages::EvidenceItem& item) {
    const Clock& clock = clock_of(item);
    std::int64_t& last_ns = last_of_host_ns_[item.said().host()];
    last_ns =
        std::max(last_ns, item.time_ns() + static_cast<std::int64_t>(random_.below(kMostDelayNs)));
    latest_ns_ = std::max(latest_ns_, last_ns);
    if (random_.chance(kLost)) return;
    messages::EvidenceItem& late = varied_.items.emplace_back(item);
    late.set_time_ns(last_ns);
    messages::FromAgent& message = *late.mutable_said()->mutable_message();
    if (message.has_host()) shift(*message.mutable_host(), clock);
    if (message.has_links()) round_sums(*message.mutable_links());
    if (!message.has_measured()) return;
    messages::RankMeasured& measured = *message.mutable_measured();
    if (measured.rank() < varied_.ranks.size()) measured.set_rank(varied_.ranks[measured.rank()]);
    shift(measured, clock);
    round_sums(measured);
  }

  Random random_;
  VariedEvidence varied_;
  std::map<std::uint32_t, Clock> clocks_;                  // by host
  std::map<std::uint32_t, std::int64_t> last_of_host_ns_;  // when its last message came
  std::int64_t latest_ns_ = 0;
};

}  // namespace

VariedEvidence varied(const std::vector<messages::EvidenceItem>& items, std::uint64_t seed) {
  return Variation(seed).take(items);
}

}  // namespace paceline::launcher
