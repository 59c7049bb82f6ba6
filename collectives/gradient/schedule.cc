#include "collectives/gradient/schedule.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace paceline {
namespace {

// Cuts lie at multiples of it: no element is torn, and vectors are aligned.
constexpr std::size_t kCutBytes = 64;
// So many runs that grow are passed over at most: there may be thousands.
constexpr int kMostLooks = 64;
// Cuts keep rows whole where a quantum has room for so many of them.
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
  struct Limits {
    std::size_t most_bytes = 0;      // it is full
    std::size_t together_bytes = 0;  // of several spans
    std::size_t most_row_bytes = 0;  // longer rows are torn
  };
  Filling(const Limits& limits, End cut_from) : limits_(limits), cut_from_(cut_from) {}

  int type() const { return type_; }
  bool is_empty() const { return bytes_ == 0; }
  bool is_full() const { return bytes_ >= limits_.most_bytes; }

  // What it takes of `rest`, a part of a gradient; no bytes: it is closed to it.
  ByteSpan part_of(const ByteSpan& rest, const GradientTime& gradient) const {
    if (is_empty()) return cut(rest, gradient, limits_.most_bytes);
    if (is_full()) return {};
    const ByteSpan part = cut(rest, gradient, limits_.most_bytes - bytes_);
    if (remains_one(part) || bytes_ + part.bytes <= limits_.together_bytes) return part;
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
    return rows > 0 && rows <= limits_.most_row_bytes ? rows : kCutBytes;
  }
  bool remains_one(const ByteSpan& part) const {
    return is_one_ && (part.begin == high_ || part.end() == low_);
  }

  Limits limits_;
  End cut_from_;
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

// The gradients of one type that are ready and not sent. They are numbered in their order.
class Lane {
 public:
  // Gradients that adjoin: one span.
  struct Run {
    std::set<std::size_t>::const_iterator first, end;
    std::size_t bytes = 0;
    bool grows = false;  // a gradient that adjoins it is not ready yet
  };

  // Returns the number of the gradient, which is at `place` in the list of all.
  std::size_t append(const GradientTime& gradient, std::size_t place) {
    gradients_.push_back(gradient);
    places_.push_back(place);
    sent_.push_back(0);
    return gradients_.size() - 1;
  }
  void add(std::size_t number) { ready_.insert(number); }
  bool is_empty() const { return ready_.empty(); }
  std::size_t place_of(const Run& run) const { return places_[*run.first]; }

  // The run that the next forward needs first. A run that grows is left alone until it is a bucket
  // of its own, if there are others. Else it would be cut into pieces that never become one.
  Run next_run(std::size_t quantum) const {
    const Run first = run_from(ready_.begin(), 2 * quantum);
    Run run = first;
    for (int looks = 0; looks < kMostLooks; ++looks, run = run_from(run.end, 2 * quantum)) {
      if (run.bytes >= quantum || !run.grows) return run;
      if (run.end == ready_.end()) break;
    }
    return first;
  }

  // The beginning of the run, and what may travel with it: at most a quantum.
  Bucket take(const Run& run, std::size_t quantum, std::size_t together_bytes) {
    // A run that is a little longer would leave a small piece, so it is halved.
    const bool is_halved = run.bytes > quantum && run.bytes < 2 * quantum;
    Filling filling({.most_bytes = is_halved ? (run.bytes + 1) / 2 : quantum,
                     .together_bytes = together_bytes,
                     .most_row_bytes = quantum / kLeastRows},
                    End::kFirst);
    for (auto at = run.first; at != ready_.end() && !filling.is_full();) {
      const std::size_t number = *at;
      const ByteSpan rest = rest_of(number);
      const ByteSpan part = filling.part_of(rest, gradients_[number]);
      if (part.bytes == 0) break;
      filling.add(places_[number], part, gradients_[number]);
      sent_[number] += part.bytes;
      at = part == rest ? ready_.erase(at) : std::next(at);
    }
    return filling.finish();
  }

 private:
  // Ends when it has enough bytes.
  Run run_from(std::set<std::size_t>::const_iterator first, std::size_t enough_bytes) const {
    Run run{.first = first, .end = first};
    do {
      run.bytes += rest_of(*run.end).bytes;
      ++run.end;
    } while (run.bytes < enough_bytes && run.end != ready_.end() &&
             goes_on(*std::prev(run.end), *run.end));
    const std::size_t last = *std::prev(run.end);
    run.grows = (*first > 0 && adjoin(*first - 1, *first) && is_to_come(*first - 1)) ||
                (adjoin(last, last + 1) && is_to_come(last + 1));
    return run;
  }

  ByteSpan rest_of(std::size_t number) const {
    const GradientTime& gradient = gradients_[number];
    return {.begin = gradient.begin + sent_[number], .bytes = gradient.bytes - sent_[number]};
  }
  bool goes_on(std::size_t number, std::size_t behind) const {
    return behind == number + 1 && sent_[behind] == 0 && adjoin(number, behind);
  }
  bool adjoin(std::size_t number, std::size_t behind) const {
    return behind < gradients_.size() &&
           gradients_[number].begin + gradients_[number].bytes == gradients_[behind].begin;
  }
  bool is_to_come(std::size_t number) const {
    return rest_of(number).bytes > 0 && !ready_.contains(number);
  }

  std::vector<GradientTime> gradients_;
  std::vector<std::size_t> places_;
  std::vector<std::size_t> sent_;  // bytes, from the gradient's beginning
  std::set<std::size_t> ready_;    // gradients with bytes left
};

// The gradients that are ready and not sent, in one lane for each type.
class Backlog {
 public:
  explicit Backlog(std::span<const GradientTime> gradients) : gradients_(gradients) {
    for (std::size_t place = 0; place < gradients.size(); ++place)
      numbers_.push_back(lanes_[gradients[place].type].append(gradients[place], place));
  }

  void add(std::size_t place) {
    lanes_[gradients_[place].type].add(numbers_[place]);
    bytes_ += gradients_[place].bytes;
  }
  std::size_t bytes() const { return bytes_; }

  // Not empty; at most a quantum. Of the lanes' next runs the one that forward needs first. Runs
  // that grow to a bucket of their own come last.
  Bucket take(std::size_t quantum, std::size_t together_bytes) {
    Lane* chosen = nullptr;
    Lane::Run run{};
    const auto comes_first = [&](const Lane& lane, const Lane::Run& other) {
      if (chosen == nullptr) return true;
      const bool waits = run.grows && run.bytes < quantum;
      const bool other_waits = other.grows && other.bytes < quantum;
      return std::pair(other_waits, lane.place_of(other)) < std::pair(waits, chosen->place_of(run));
    };
    for (auto& [type, lane] : lanes_) {
      if (lane.is_empty()) continue;
      const Lane::Run next = lane.next_run(quantum);
      if (!comes_first(lane, next)) continue;
      chosen = &lane;
      run = next;
    }
    Bucket bucket = chosen->take(run, quantum, together_bytes);
    bytes_ -= bucket.bytes();
    return bucket;
  }

 private:
  const std::span<const GradientTime> gradients_;
  std::vector<std::size_t> numbers_;  // by place: the number in its lane
  std::map<int, Lane> lanes_;         // by type
  std::size_t bytes_ = 0;             // in all lanes, not sent
};

// The wire at work, with one quantum.
class Simulated {
 public:
  Simulated(std::span<const GradientTime> gradients, const std::vector<std::size_t>& order,
            const PathCost& path, const ScheduleRules& rules)
      : gradients_(gradients), order_(order), path_(path), rules_(rules), backlog_(gradients) {}

  Schedule run(std::size_t quantum) {
    Schedule schedule{.buckets = {}, .path = path_};
    double free_at = 0;  // the wire
    while (backlog_.bytes() > 0 || next_ < order_.size()) {
      admit(free_at - rules_.ahead_us);
      if (backlog_.bytes() < quantum) await_some(free_at, quantum);
      Bucket bucket = backlog_.take(quantum, rules_.together_bytes);
      free_at = end_behind(free_at, bucket, path_);
      schedule.buckets.push_back(std::move(bucket));
    }
    schedule.end_us = free_at;
    return schedule;
  }

 private:
  double next_us() const { return gradients_[order_[next_]].ready_us; }

  void admit(double now) {
    for (; next_ < order_.size() && next_us() <= now; ++next_) backlog_.add(order_[next_]);
  }

  // Until what comes next is further away than an operation's own time, or there is enough.
  void await_some(double now, std::size_t quantum) {
    admit(now);
    if (backlog_.bytes() == 0) admit(now = next_us());
    while (next_ < order_.size() && backlog_.bytes() < quantum && next_us() <= now + path_.alpha_us)
      admit(now = next_us());
  }

  const std::span<const GradientTime> gradients_;
  const std::vector<std::size_t>& order_;
  const PathCost path_;
  const ScheduleRules& rules_;
  std::size_t next_ = 0;  // in order_: not ready yet
  Backlog backlog_;
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
    tried.push_back(Simulated(gradients, order, path, rules).run(quantum));
  if (tried.empty()) return Simulated(gradients, order, path, rules).run(least);
  const double best = std::ranges::min_element(tried, {}, &Schedule::end_us)->end_us;
  return *std::ranges::find_if(
      tried, [&](const Schedule& one) { return one.end_us <= best * kGoodEnough; });
}

Schedule fill_schedule(std::span<const GradientTime> gradients, std::size_t bucket_bytes,
                       const PathCost& path, const ScheduleRules& rules) {
  Schedule schedule{.buckets = {}, .path = path};
  // Gradients are cut from their ends, so that each adjoins the one behind it, which came before.
  const std::size_t most_bytes = std::max(bucket_bytes, kCutBytes);
  const Filling::Limits limits{.most_bytes = most_bytes,
                               .together_bytes = rules.together_bytes,
                               .most_row_bytes = most_bytes / kLeastRows};
  std::vector<Filling> fillings;  // one for each type; the one that was added to last comes last
  for (const std::size_t place : by_readiness(gradients)) {
    const GradientTime& gradient = gradients[place];
    const auto same_type = std::ranges::find(fillings, gradient.type, &Filling::type);
    if (same_type != fillings.end())
      std::rotate(same_type, std::next(same_type), fillings.end());
    else
      fillings.emplace_back(limits, End::kLast);
    Filling& filling = fillings.back();
    for (std::size_t left = gradient.bytes; left > 0;) {
      const ByteSpan rest{.begin = gradient.begin, .bytes = left};
      ByteSpan part = filling.part_of(rest, gradient);
      if (part.bytes == 0) {
        schedule.buckets.push_back(filling.finish());
        part = filling.part_of(rest, gradient);
      }
      left -= part.bytes;
      filling.add(place, part, gradient);
    }
  }
  for (Filling& filling : fillings) schedule.buckets.push_back(filling.finish());
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
