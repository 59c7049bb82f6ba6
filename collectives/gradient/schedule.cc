#include "collectives/gradient/schedule.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>

namespace paceline {
namespace {

// Cuts lie at multiples of it: no element is torn, and vectors are aligned.
constexpr std::size_t kCutBytes = 64;
// Cuts keep rows whole where a bucket has room for so many of them: it is so full at least.
constexpr std::size_t kLeastRows = 4;
// An end that is later by less is as good where buckets are smaller.
constexpr double kGoodEnough = 1.002;

// The places of those that have bytes, the first to be ready first; of equal times the last one
// first.
std::vector<std::size_t> by_readiness(std::span<const GradientTime> gradients) {
  std::vector<std::size_t> order;
  for (std::size_t i = gradients.size(); i-- > 0;)
    if (gradients[i].bytes > 0) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return gradients[i].ready_us; });
  return order;
}

// Where gradients are cut from.
enum class End : std::uint8_t { kFirst, kLast };

// One that is filled gradient by gradient.
class Filling {
 public:
  Filling(std::size_t most_bytes, std::size_t together_bytes, End cut_from)
      : most_bytes_(most_bytes), together_bytes_(together_bytes), cut_from_(cut_from) {}

  bool is_empty() const { return bytes_ == 0; }
  bool is_full() const { return bytes_ >= most_bytes_; }

  // What it takes of `rest`, a part of a gradient; no bytes: it is closed to it.
  ByteSpan part_of(const ByteSpan& rest, const GradientTime& gradient) const {
    if (is_empty()) return cut(rest, gradient, most_bytes_);
    if (gradient.type != type_ || is_full()) return {};
    const ByteSpan part = cut(rest, gradient, most_bytes_ - bytes_);
    if (remains_one(part) || bytes_ + part.bytes <= together_bytes_) return part;
    return {};
  }

  void add(std::size_t place, const ByteSpan& part, const GradientTime& gradient) {
    is_one_ = is_empty() || remains_one(part);
    low_ = is_empty() ? part.begin : std::min(low_, part.begin);
    high_ = is_empty() ? part.end() : std::max(high_, part.end());
    type_ = gradient.type;
    bytes_ += part.bytes;
    bucket_.spans.push_back(part);
    bucket_.gradients.push_back(place);
    bucket_.ready_us = std::max(bucket_.ready_us, gradient.ready_us);
  }

  Bucket finish() {
    bytes_ = 0;
    Bucket bucket = std::exchange(bucket_, {});
    std::ranges::sort(bucket.gradients);
    std::ranges::sort(bucket.spans, {}, &ByteSpan::begin);
    std::vector<ByteSpan> joined;
    for (const ByteSpan& span : bucket.spans) {
      if (!joined.empty() && joined.back().end() == span.begin)
        joined.back().bytes += span.bytes;
      else
        joined.push_back(span);
    }
    bucket.spans = std::move(joined);
    return bucket;
  }

 private:
  ByteSpan cut(const ByteSpan& rest, const GradientTime& gradient, std::size_t room) const {
    if (rest.bytes <= room) return rest;
    const std::size_t step = step_of(gradient), origin = gradient.begin;
    if (cut_from_ == End::kFirst) {
      const std::size_t end = origin + (rest.begin - origin + room) / step * step;
      return {.begin = rest.begin, .bytes = end > rest.begin ? end - rest.begin : 0};
    }
    const std::size_t begin = origin + (rest.end() - origin - room + step - 1) / step * step;
    return {.begin = begin, .bytes = rest.end() > begin ? rest.end() - begin : 0};
  }
  // What lies between two places where it may be cut.
  std::size_t step_of(const GradientTime& gradient) const {
    const std::size_t rows = std::lcm(gradient.row_bytes, kCutBytes);
    return rows > 0 && rows <= most_bytes_ / kLeastRows ? rows : kCutBytes;
  }
  bool remains_one(const ByteSpan& part) const {
    return is_one_ && (part.begin == high_ || part.end() == low_);
  }

  const std::size_t most_bytes_, together_bytes_;
  const End cut_from_;
  Bucket bucket_;
  std::size_t bytes_ = 0, low_ = 0, high_ = 0;
  bool is_one_ = true;  // its spans adjoin
  int type_ = 0;
};

// When a bucket ends that travels behind another one.
double end_behind(double end, const Bucket& bucket, const PathCost& path) {
  const std::size_t bytes = bucket.bytes();
  return std::max(end + path.behind(bytes), bucket.ready_us + path.of(bytes));
}

// The wire at work, with one quantum.
class Simulated {
 public:
  Simulated(std::span<const GradientTime> gradients, const std::vector<std::size_t>& order,
            const PathCost& path)
      : gradients_(gradients), order_(order), path_(path), sent_(gradients.size(), 0) {}

  Schedule run(std::size_t quantum, std::size_t together) {
    Schedule schedule{.buckets = {}, .path = path_};
    double free_at = 0;  // the wire
    while (!ready_.empty() || next_ < order_.size()) {
      const double first =
          ready_.empty() ? std::max(free_at, gradients_[order_[next_]].ready_us) : free_at;
      admit(first);
      await_some(first, quantum);
      Bucket bucket = take(quantum, together);
      free_at = end_behind(free_at, bucket, path_);
      schedule.buckets.push_back(std::move(bucket));
    }
    schedule.end_us = free_at;
    return schedule;
  }

 private:
  void admit(double now) {
    for (; next_ < order_.size() && gradients_[order_[next_]].ready_us <= now; ++next_) {
      ready_.insert(order_[next_]);
      ready_bytes_ += gradients_[order_[next_]].bytes;
    }
  }

  // Until what comes next is further away than an operation's own time, or there is enough.
  void await_some(double now, std::size_t quantum) {
    while (next_ < order_.size() && ready_bytes_ < quantum) {
      const double next = gradients_[order_[next_]].ready_us;
      if (next > now + path_.alpha_us) break;
      admit(now = next);
    }
  }

  Bucket take(std::size_t quantum, std::size_t together) {
    Filling filling(quantum, together, End::kFirst);
    for (auto at = ready_.begin(); at != ready_.end() && !filling.is_full();) {
      const std::size_t place = *at;
      const GradientTime& gradient = gradients_[place];
      const ByteSpan rest{.begin = gradient.begin + sent_[place],
                          .bytes = gradient.bytes - sent_[place]};
      const ByteSpan part = filling.part_of(rest, gradient);
      if (part.bytes == 0) break;
      filling.add(place, part, gradient);
      sent_[place] += part.bytes;
      ready_bytes_ -= part.bytes;
      at = part == rest ? ready_.erase(at) : std::next(at);
    }
    return filling.finish();
  }

  const std::span<const GradientTime> gradients_;
  const std::vector<std::size_t>& order_;
  const PathCost path_;
  std::vector<std::size_t> sent_;  // bytes, by gradient
  std::size_t next_ = 0;           // in order_: not ready yet
  std::set<std::size_t> ready_;    // with bytes left
  std::size_t ready_bytes_ = 0;
};

}  // namespace

std::size_t Bucket::bytes() const {
  return std::accumulate(spans.begin(), spans.end(), std::size_t{0},
                         [](std::size_t sum, const ByteSpan& span) { return sum + span.bytes; });
}

Schedule make_schedule(std::span<const GradientTime> gradients, const PathCost& path,
                       const ScheduleRules& rules) {
  const std::vector<std::size_t> order = by_readiness(gradients);
  std::vector<Schedule> tried;
  const std::size_t least = std::max(rules.least_quantum_bytes, kCutBytes);
  for (std::size_t quantum = least; quantum <= rules.most_quantum_bytes; quantum *= 2)
    tried.push_back(Simulated(gradients, order, path).run(quantum, rules.together_bytes));
  if (tried.empty()) return Simulated(gradients, order, path).run(least, rules.together_bytes);
  const double best = std::ranges::min_element(tried, {}, &Schedule::end_us)->end_us;
  return *std::ranges::find_if(
      tried, [&](const Schedule& one) { return one.end_us <= best * kGoodEnough; });
}

Schedule fill_schedule(std::span<const GradientTime> gradients, std::size_t bucket_bytes,
                       const PathCost& path, const ScheduleRules& rules) {
  Schedule schedule{.buckets = {}, .path = path};
  // From their ends, so that each adjoins what comes behind it and has been there before.
  Filling filling(std::max(bucket_bytes, kCutBytes), rules.together_bytes, End::kLast);
  const auto close = [&] {
    if (!filling.is_empty()) schedule.buckets.push_back(filling.finish());
  };
  for (const std::size_t place : by_readiness(gradients)) {
    const GradientTime& gradient = gradients[place];
    for (std::size_t left = gradient.bytes; left > 0;) {
      const ByteSpan rest{.begin = gradient.begin, .bytes = left};
      ByteSpan part = filling.part_of(rest, gradient);
      if (part.bytes == 0) {
        close();
        part = filling.part_of(rest, gradient);
      }
      left -= part.bytes;
      filling.add(place, part, gradient);
    }
  }
  close();
  schedule.end_us = end_of(schedule.buckets, path);
  return schedule;
}

double end_of(std::span<const Bucket> buckets, const PathCost& path) {
  double end = 0;
  for (const Bucket& bucket : buckets) end = end_behind(end, bucket, path);
  return end;
}

double least_end(std::span<const GradientTime> gradients, const PathCost& path) {
  const std::vector<std::size_t> order = by_readiness(gradients);
  double end = 0;
  std::size_t bytes = 0;
  for (auto place = order.rbegin(); place != order.rend(); ++place) {
    bytes += gradients[*place].bytes;
    end = std::max(end, gradients[*place].ready_us + path.of(bytes));
  }
  return end;
}

}  // namespace paceline
