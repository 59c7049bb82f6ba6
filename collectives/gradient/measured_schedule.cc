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
// Where operations overlap, each rank's part, which it sends, reduces and sends again, is what
// keeps the wire busy while the rank does not run: the next part cannot leave before this one has
// come from the others. ResNet-50 on 4 hosts at 1 Gbit/s, computing as long as the wire, 2 CPUs for
// all, of which something else takes one for 5 to 17 ms twice a second: with parts of 256 KiB a
// step took 1.013 times as long as DDP's, with 2 MiB 0.999 (medians of 7 and 6 runs), when runs
// were not halved yet. Where nothing disturbs, 256 KiB and more exposed as much. So long are the
// parts of a quantum, one and a half of 2 MiB, as the buckets of a run that is a little longer have
// half of one at least; this length itself was not compared with others.
constexpr double kCoveredUs = 30'000;
// Below, the next would not be on its way meanwhile; above, caches are left for nothing.
constexpr std::size_t kLeastPartBytes = std::size_t{384} << 10;
constexpr std::size_t kMostPartBytes = std::size_t{3} << 20;
// Of many ranks: so that there are several buckets in any case. Not measured.
constexpr std::size_t kMostLeastBytes = std::size_t{12} << 20;
// Every so many steps from here on.
constexpr std::uint64_t kSeldom = 256;

// What a rank takes to send one byte.
double sent_us(const PathCost& path, int ranks) {
  return path.beta_us * ranks / std::max(2 * (ranks - 1), 1);
}

// By halves: what is measured a little differently the next time makes no other buckets.
std::size_t part_bytes(const PathCost& path, int ranks) {
  std::size_t bytes = kMostPartBytes;
  while (bytes > kLeastPartBytes && sent_us(path, ranks) * static_cast<double>(bytes) > kCoveredUs)
    bytes /= 2;
  return bytes;
}

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

ScheduleRules MeasuredSchedule::rules(bool is_coded, const PathCost& path) const {
  ScheduleRules rules;
  if (path.overlaps) {
    const std::size_t part = part_bytes(path, ranks_);
    rules.least_quantum_bytes = std::min(part * static_cast<std::size_t>(ranks_), kMostLeastBytes);
    // The next operation can begin when this one has sent all but its last part.
    rules.ahead_us = sent_us(path, ranks_) * static_cast<double>(part);
  }
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
  return make_schedule(all, path, rules(is_coded, path));
}

std::uint64_t digest_of(const Schedule& schedule, std::span<const Codec> codecs,
                        const std::vector<bool>& is_frozen, double loss_scale) {
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
  mix(std::bit_cast<std::uint64_t>(loss_scale));
  return digest;
}

}  // namespace paceline
