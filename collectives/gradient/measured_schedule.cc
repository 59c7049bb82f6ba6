#include "collectives/gradient/measured_schedule.h"

#include <algorithm>
#include <bit>

#include "comm/base/random.h"

namespace paceline {
namespace {

// Large enough that an operation's own time does not matter, small enough to begin early.
constexpr std::size_t kFirstBucketBytes = std::size_t{4} << 20;
// An operation of its own would take longer than codes of so little would save.
constexpr std::size_t kCodedTogetherBytes = std::size_t{16} << 10;
// Where operations overlap nothing speaks against small ones as long as each rank's part, which it
// sends, reduces and sends again, is long enough for the next to be on its way meanwhile. ResNet-50
// at 1 Gbit/s, computing as long as the wire: 2 hosts expose 287, 288, 289 ms with parts of 128,
// 256 and 512 KiB or more, 4 hosts 440, 434, 433.
constexpr std::size_t kPartBytes = std::size_t{256} << 10;
// Of many ranks: so that there are several buckets in any case. Not measured.
constexpr std::size_t kMostLeastBytes = std::size_t{8} << 20;
// Every so many steps from here on.
constexpr std::uint64_t kSeldom = 256;

}  // namespace

MeasuredSchedule::MeasuredSchedule(const GradientArena& arena,
                                   std::span<const Parameter> parameters,
                                   const GradientOptions& options)
    : arena_(arena),
      bucket_bytes_(options.bucket_bytes),
      coded_together_bytes_(options.forces_codec ? 0 : kCodedTogetherBytes),
      sums_us_(parameters.size()) {
  for (const Parameter& parameter : parameters) types_.push_back(static_cast<int>(parameter.type));
}

std::vector<GradientTime> MeasuredSchedule::times(const std::vector<bool>& is_frozen) const {
  std::vector<GradientTime> times;
  for (std::size_t i = 0; i < arena_.size(); ++i) {
    const ByteSpan& place = arena_.place(i);
    times.push_back({.begin = place.begin,
                     .bytes = is_frozen[i] ? 0 : place.bytes,
                     .type = types_[i],
                     .row_bytes = arena_.columns(i) * size_of(static_cast<DataType>(types_[i]))});
  }
  return times;
}

ScheduleRules MeasuredSchedule::rules(bool is_coded, bool overlaps) const {
  ScheduleRules rules;
  if (overlaps)
    rules.least_quantum_bytes =
        std::min(kPartBytes * static_cast<std::size_t>(ranks_), kMostLeastBytes);
  if (bucket_bytes_ > 0) rules.together_bytes = bucket_bytes_;
  if (is_coded) rules.together_bytes = coded_together_bytes_;
  return rules;
}

Schedule MeasuredSchedule::first(const std::vector<bool>& is_frozen, bool is_coded) const {
  return fill_schedule(times(is_frozen), bucket_bytes_ > 0 ? bucket_bytes_ : kFirstBucketBytes, {},
                       rules(is_coded));
}

void MeasuredSchedule::add_step(const Readiness& readiness) {
  if (!has_begun_) {
    has_begun_ = true;
    return;
  }
  for (std::size_t i = 0; i < sums_us_.size(); ++i)
    if (readiness.is_marked(i)) sums_us_[i] += readiness.ready_us(i);
  ++steps_;
}

bool MeasuredSchedule::is_due(std::uint64_t steps) {
  if (steps >= kSeldom) return steps % kSeldom == 0;
  return steps >= 2 && std::has_single_bit(steps);
}

std::vector<double> MeasuredSchedule::tell() {
  std::vector<double> told;
  for (double& sum : sums_us_) {
    told.push_back(sum / static_cast<double>(std::max<std::uint64_t>(steps_, 1)));
    sum = 0;
  }
  steps_ = 0;
  return told;
}

void MeasuredSchedule::hear(std::span<const double> told, int ranks) {
  ranks_ = ranks;
  heard_us_.assign(told.begin(), told.end());
  for (double& one : heard_us_) one /= ranks;
}

Schedule MeasuredSchedule::decide(const PathCost& path, const std::vector<bool>& is_frozen,
                                  bool is_coded) const {
  std::vector<GradientTime> all = times(is_frozen);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].ready_us = heard_us_[i];
  if (bucket_bytes_ > 0) return fill_schedule(all, bucket_bytes_, path, rules(is_coded));
  return make_schedule(all, path, rules(is_coded, path.overlaps));
}

std::uint64_t digest_of(const Schedule& schedule, std::span<const Codec> codecs,
                        const std::vector<bool>& is_frozen) {
  std::uint64_t digest = schedule.buckets.size();
  const auto mix = [&](std::uint64_t value) { digest = Random(digest ^ value).next(); };
  for (const Bucket& bucket : schedule.buckets) {
    mix(bucket.spans.size());
    for (const ByteSpan& span : bucket.spans) {
      mix(span.begin);
      mix(span.bytes);
    }
  }
  for (const Codec codec : codecs) mix(static_cast<std::uint64_t>(codec));
  for (const bool frozen : is_frozen) mix(frozen ? 1 : 0);
  return digest;
}

}  // namespace paceline
