#include "launcher/tools/measure/probe/loop/measurement.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include <unistd.h>

#include "comm/base/cpus.h"
#include "comm/base/try.h"
#include "launcher/tools/measure/probe/loop/statistics.h"

namespace paceline::probe {
namespace {

constexpr std::size_t kMaxBatchedBytes = 8192;
constexpr double kBatchNs = 100'000;  // hides the hundred nanoseconds in which ranks let go
constexpr int kMinBatch = 8, kMaxBatch = 1000;
constexpr int kMinSamples = 5;
constexpr int kMaxSamples = static_cast<int>(Meeting::kMaxShared / 2);
constexpr int kTrials = 3;
constexpr int kWarmUps = 3;        // batches
constexpr int kPortions = 16;      // of the samples; after each it is looked how long they take
constexpr int kPatience = 3;       // times as long as samples should take
constexpr int kCheckedCalls = 16;  // calls that nobody measures, each looked at
constexpr int kCopySamples = 12;
constexpr double kUndisturbed = 0.25;  // the copies while which nobody else had a CPU
constexpr std::size_t kCopyBatchBytes = std::size_t{1} << 20;
constexpr std::size_t kCacheLine = 64;

// Twice the last cache, as far as the system knows it; some virtual machines show a whole host's.
std::size_t bytes_beyond_caches() {
  constexpr std::size_t kUsual = std::size_t{64} << 20, kMost = std::size_t{256} << 20;
  const long last = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return last > 0 ? std::min(2 * static_cast<std::size_t>(last), kMost) : kUsual;
}

Result<std::byte*> zeroed(Result<std::byte*> memory, std::size_t bytes) {
  if (memory.ok()) std::memset(*memory, 0, bytes);
  return memory;
}

// The subject allocates it. `zeros`: null if the CPU can address the memory.
Result<std::byte*> array_of_zeros(Subject& subject, std::size_t bytes, const std::byte* zeros) {
  Result<std::byte*> memory = subject.allocate(bytes);
  if (zeros == nullptr) return zeroed(memory, bytes);
  if (memory.ok()) PACELINE_TRY(subject.write(*memory, zeros, bytes));
  return memory;
}

template <class Value>
void keep(const Value& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace

Measurement::Measurement(const Parts& parts, const Orders& orders)
    : parts_(parts),
      orders_(orders),
      operation_(*find_operation(orders.operation)),
      rank_(parts.subject.rank()),
      ranks_(parts.subject.size()),
      blocks_(operation_.blocks(ranks_)),
      pattern_(orders.type, orders.op, ranks_),
      eviction_bytes_(orders.cold ? bytes_beyond_caches() : 0) {
  moments_.reserve(2 * kMaxSamples);
}

Result<std::unique_ptr<Measurement>> Measurement::create(const Parts& parts, const Orders& orders) {
  std::unique_ptr<Measurement> made(new Measurement(parts, orders));
  PACELINE_TRY(made->allocate());
  return made;
}

Status Measurement::allocate() {
  Subject& subject = parts_.subject;
  const std::size_t longest = orders_.sizes().back();
  const std::size_t array = array_bytes(count_of(longest));
  const bool has_input = !operation_.is_in_place(orders_.in_place);
  if (array > 0 && !subject.is_addressable()) {
    PACELINE_TRY_ASSIGN(staging_, zeroed(subject.allocate_ordinary(array), array));
  }
  if (array > 0) {
    PACELINE_TRY_ASSIGN(out_, array_of_zeros(subject, array, staging_));
  }
  if (array > 0 && has_input) {
    PACELINE_TRY_ASSIGN(in_, array_of_zeros(subject, array, staging_));
  }
  if (orders_.limits) {
    const std::size_t most = std::min(longest, kMaxCopy);
    PACELINE_TRY_ASSIGN(scratch_, zeroed(subject.allocate_ordinary(most), most));
  }
  if (eviction_bytes_ > 0) {
    PACELINE_TRY_ASSIGN(eviction_,
                        zeroed(subject.allocate_ordinary(eviction_bytes_), eviction_bytes_));
  }
  return Status();
}

// Whole blocks, and one element at least: an array of few bytes may come out longer.
std::size_t Measurement::count_of(std::size_t bytes) const {
  if (blocks_ == 0) return 0;
  return std::max<std::size_t>(1, bytes / size_of(orders_.type) / blocks_);
}

std::size_t Measurement::array_bytes(std::size_t count) const {
  return count * blocks_ * size_of(orders_.type);
}

Call Measurement::call_of(std::size_t count) {
  requests_ =
      requests_of({.kind = operation_.kind, .ranks = ranks_, .root = orders_.root, .count = count});
  shape_ = operation_.shape(requests_[static_cast<std::size_t>(rank_)]);
  const std::size_t element = size_of(orders_.type);
  return {.kind = operation_.kind,
          .in = in_ != nullptr ? in_ : out_ + shape_.input_at * element,
          .out = in_ != nullptr ? out_ : out_ + shape_.output_at * element,
          .count = count,
          .type = orders_.type,
          .op = orders_.op,
          .root = orders_.root};
}

Status Measurement::prepare(std::size_t bytes) {
  call_ = call_of(count_of(bytes));
  wrong_ = 0;
  for (int i = 0; orders_.check && i < kCheckedCalls; ++i) {
    PACELINE_TRY(run_batch(1, true));
    PACELINE_TRY(look_at_output());
  }
  PACELINE_TRY_ASSIGN(plan_, plan());
  return Status();
}

Status Measurement::warm_up() {
  const int samples = plan_.batch > 1 ? kWarmUps : 1;
  PACELINE_TRY(take_samples({.batch = plan_.batch, .samples = samples}));
  moments_.clear();
  return Status();
}

Result<Row> Measurement::measure() {
  PACELINE_TRY_ASSIGN(std::vector<double> times, sample_in_time());
  for (double& time : times) time /= plan_.batch;
  PACELINE_TRY_ASSIGN(const std::int64_t wrong, sum(std::exchange(wrong_, 0)));
  return Row{.bytes = array_bytes(call_.count),
             .count = call_.count * blocks_,
             .samples = times.size(),
             .batch = static_cast<std::uint64_t>(plan_.batch),
             .p50_ns = quantile(times, 0.5),
             .p99_ns = quantile(times, 0.99),
             .wrong = orders_.check ? wrong : -1,
             .limit_ns = 0};
}

// Rank 0's clock decides for all: samples take longer than what is measured in them.
Result<Measurement::Plan> Measurement::plan() {
  const bool batched =
      array_bytes(call_.count) <= kMaxBatchedBytes && !orders_.cold && staging_ == nullptr;
  PACELINE_TRY(sample({.batch = 1, .samples = 1}).status());
  PACELINE_TRY_ASSIGN(const auto trials, sample({.batch = 1, .samples = kTrials}));
  const double calls = kBatchNs / std::max(quantile(trials, 0.5), 1.0);
  Plan plan;
  if (batched) plan.batch = static_cast<int>(std::clamp<double>(calls, kMinBatch, kMaxBatch));
  const TimePoint begin = parts_.clock.now();
  PACELINE_TRY(sample({.batch = plan.batch, .samples = 1}).status());
  const Duration taken = std::max(parts_.clock.now() - begin, Duration(1));
  const auto fit = std::chrono::milliseconds(orders_.time_ms) / taken;
  const auto samples = std::clamp<std::int64_t>(fit, kMinSamples, kMaxSamples);
  PACELINE_TRY_ASSIGN(const std::int64_t agreed, of_first_rank(samples));
  plan.samples = static_cast<int>(agreed);
  return plan;
}

Result<std::vector<double>> Measurement::sample(const Plan& plan) {
  PACELINE_TRY(take_samples(plan));
  return collect();
}

// Where others want the CPUs, too, a batch may take a thousand times as long as the one before.
Result<std::vector<double>> Measurement::sample_in_time() {
  const TimePoint begin = parts_.clock.now();
  const Duration limit = kPatience * std::chrono::milliseconds(orders_.time_ms);
  const int portion = std::max(kMinSamples, plan_.samples / kPortions);
  for (int done = 0; done < plan_.samples; done += portion) {
    const int samples = std::min(portion, plan_.samples - done);
    PACELINE_TRY(take_samples({.batch = plan_.batch, .samples = samples}));
    PACELINE_TRY_ASSIGN(const std::int64_t late,
                        of_first_rank(parts_.clock.now() - begin > limit ? 1 : 0));
    if (late != 0) break;
  }
  return collect();
}

Status Measurement::take_samples(const Plan& plan) {
  const bool batched = plan.batch > 1;
  for (int i = 0; i < plan.samples; ++i) {
    if (!batched) PACELINE_TRY(rewrite_input());
    PACELINE_TRY(take_sample([&] { return run_batch(plan.batch, batched); }));
    // Whoever has ended would check on the CPU of one that has not.
    if (orders_.check) PACELINE_TRY(parts_.meeting.meet());
    PACELINE_TRY(look_at_output());
  }
  return Status();
}

Status Measurement::take_sample(FunctionRef<Status()> body) {
  empty_caches();
  // Who has slept in the first wakes up 100 us late, and often on the CPU of the one that woke it:
  // that would be measured, too. With 8 ranks on 2 CPUs half of the starts took twice as long.
  PACELINE_TRY(parts_.meeting.meet());
  go_to_cpu(rank_);
  PACELINE_TRY(parts_.meeting.meet());
  const TimePoint begin = parts_.clock.now();
  PACELINE_TRY(body());
  const TimePoint end = parts_.clock.now();
  moments_.push_back(begin.time_since_epoch().count());
  moments_.push_back(end.time_since_epoch().count());
  return Status();
}

Status Measurement::run_batch(int batch, bool rewrite) {
  for (int i = 0; i < batch; ++i) {
    if (rewrite) PACELINE_TRY(rewrite_input());
    PACELINE_TRY(parts_.subject.call(call_));
    ++calls_;
  }
  return Status();
}

Status Measurement::rewrite_input() {
  if (shape_.input_count == 0) return Status();
  void* const input = const_cast<void*>(call_.in);
  const Elements values{staging_ != nullptr ? staging_ : input, shape_.input_count, call_.type};
  pattern_.fill(values, rank_, calls_);
  if (staging_ == nullptr) return Status();
  return parts_.subject.write(input, staging_, values.bytes());
}

// Looks at the output of the last call. Without a check the CPU reads it, as a program would.
Status Measurement::look_at_output() {
  auto* const output = static_cast<std::byte*>(call_.out);
  if (orders_.check && staging_ != nullptr && shape_.output_count > 0)
    PACELINE_TRY(parts_.subject.read(staging_, output, shape_.output_count * size_of(call_.type)));
  if (orders_.check) {
    wrong_ += static_cast<std::int64_t>(wrong_elements(staging_ != nullptr ? staging_ : output));
    return Status();
  }
  if (staging_ != nullptr) return Status();
  const auto* const bytes = static_cast<const unsigned char*>(call_.out);
  unsigned sum = 0;
  for (std::size_t at = 0; at < shape_.output_count * size_of(call_.type); at += kCacheLine)
    sum += bytes[at];
  keep(sum);
  return Status();
}

std::size_t Measurement::wrong_elements(std::byte* output) const {
  const std::uint64_t last = calls_ - 1;
  std::size_t wrong = 0;
  for (const Origin& origin : operation_.origins(requests_, rank_)) {
    std::byte* const begin = output + origin.begin * size_of(call_.type);
    const Elements part{begin, origin.count, call_.type};
    wrong += origin.rank == Origin::kEveryRank
                 ? pattern_.wrong_reduction(part, last, origin.input_begin)
                 : pattern_.wrong_copy(part, origin.rank, last, origin.input_begin);
  }
  return wrong;
}

Result<double> Measurement::copy_bytes_per_ns(std::size_t bytes, int copiers) {
  bytes = std::min(bytes, kMaxCopy);
  const auto batch = std::clamp<std::size_t>(kCopyBatchBytes / bytes, 1, kMaxBatch);
  for (int i = 0; i < kCopySamples; ++i) {
    const auto copy = [&] {
      for (std::size_t k = 0; k < batch && rank_ < copiers; ++k) {
        std::memcpy(scratch_, out_, bytes);
        keep(scratch_[0]);
      }
      return Status();
    };
    PACELINE_TRY(take_sample(copy));
    if (rank_ < copiers) continue;
    // A rank that copies nothing is neither the first to begin nor the last to end.
    moments_.end()[-2] = std::numeric_limits<std::int64_t>::max();
    moments_.end()[-1] = 0;
  }
  PACELINE_TRY_ASSIGN(const auto times, collect());
  const double copied = static_cast<double>(bytes * batch) * copiers;
  return copied / std::max(quantile(times, kUndisturbed), 1.0);
}

Result<std::int64_t> Measurement::sum(std::int64_t own) {
  PACELINE_TRY_ASSIGN(const auto all, parts_.meeting.share(std::span(&own, 1)));
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

Result<std::int64_t> Measurement::of_first_rank(std::int64_t own) {
  PACELINE_TRY_ASSIGN(const auto all, parts_.meeting.share(std::span(&own, 1)));
  return all.front();
}

Result<std::vector<double>> Measurement::collect() {
  PACELINE_TRY_ASSIGN(const auto all, parts_.meeting.share(moments_));
  moments_.clear();
  return operation_times(all, ranks_, parts_.meeting.has_one_clock());
}

void Measurement::empty_caches() {
  for (std::size_t at = 0; at < eviction_bytes_; at += kCacheLine) eviction_[at] ^= std::byte{1};
  keep(eviction_);
}

}  // namespace paceline::probe
