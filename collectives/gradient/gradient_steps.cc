// The steps of a GradientCore as its caller sees them; gradient_core.cc has what goes on meanwhile.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "collectives/gradient/bucket_site.h"
#include "collectives/gradient/coded_reduction.h"
#include "collectives/gradient/gradient_core.h"
#include "collectives/gradient/plain_reduction.h"
#include "collectives/gradient/words_request.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/completion.h"

namespace paceline {
namespace {

// An operation ends by its own deadline; a wait for some of them, so much later.
constexpr Duration kBeyondDeadlines = std::chrono::seconds(60);

Status argument_error(std::string text) {
  return {Code::kInvalidArgument, Scope::kOperation, std::move(text)};
}

}  // namespace

Status GradientCore::set_accumulating(bool is_accumulating) {
  if (phase_ != Phase::kIdle)
    return argument_error(
        "whether micro-steps are reduced changes between them, not inside of one");
  is_accumulating_ = is_accumulating;
  return {};
}

Status GradientCore::set_frozen(std::size_t parameter, bool is_frozen) {
  PACELINE_TRY(check_place(parameter));
  if (phase_ != Phase::kIdle || micro_steps_ > 0)
    return argument_error("gradients are frozen between steps, not inside of one");
  if (is_frozen_[parameter] == is_frozen) return {};
  is_frozen_[parameter] = is_frozen;
  set_schedule(measured_.first(is_frozen_), {});
  return {};
}

void GradientCore::set_schedule(Schedule schedule, const PathCost& path) {
  schedule_ = std::move(schedule);
  codecs_.clear();
  std::vector<std::unique_ptr<BucketReduction>> buckets;
  for (const Bucket& bucket : schedule_.buckets) {
    codecs_.push_back(may_be_coded(bucket) ? policy_.choose(bucket.bytes(), path) : Codec::kNone);
    buckets.push_back(make_reduction(bucket, codecs_.back()));
  }
  const Engine::Baton baton = engine_->hold();
  line_.set_buckets(schedule_, std::move(buckets));
  readiness_.set_buckets(schedule_.buckets);
  ++plans_;
}

// What is of several pieces is small, and no codec pays for it.
bool GradientCore::may_be_coded(const Bucket& bucket) const {
  return type_of(bucket) == DataType::kFloat32 && bucket.spans.size() == 1 &&
         own_->group().size() > 1;
}

std::unique_ptr<BucketReduction> GradientCore::make_reduction(const Bucket& bucket, Codec codec) {
  const BucketSite site(arena_, type_of(bucket), options_);
  if (codec == Codec::kNone) return make_plain_reduction(site, bucket);
  const ByteSpan span = bucket.spans.front();
  CodedPlace place{.span = span, .rank = own_->group().rank, .ranks = own_->group().size()};
  const DenseCodec* const dense = find_dense_codec(codec);
  if (dense == nullptr || dense->needs_feedback)
    place.residual = residual_.data() + span.begin / sizeof(float);
  if (dense != nullptr) return make_dense_reduction(site, place, *dense);
  if (codec == Codec::kTopK) return make_top_k_reduction(site, place);
  return make_power_sgd_reduction(site, place, span.begin);
}

// What no micro-step has touched counts as zeros.
void GradientCore::mark_unused() {
  const auto since = std::chrono::duration<double, std::micro>(engine_->clock().now() - opened_at_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (is_frozen_[i] || readiness_.is_marked(i)) continue;
    const std::span<std::byte> gradient = arena_.of(i);
    if (!is_touched_[i] && !gradient.empty()) std::memset(gradient.data(), 0, gradient.size());
    (void)readiness_.mark(i, since.count());
  }
}

Status GradientCore::end_backward(bool has_joined) {
  if (phase_ == Phase::kEnding) return {};
  PACELINE_TRY(open_step(has_joined));
  mark_unused();
  phase_.store(Phase::kEnding, std::memory_order_release);
  return {};
}

Status GradientCore::drive_until(FunctionRef<bool()> condition) {
  const auto begin = engine_->clock().now();
  const auto is_over = [&] { return !failure_.ok() || condition(); };
  const auto operations = static_cast<Duration::rep>(2 + 2 * schedule_.buckets.size());
  const Duration patience = own_->timeout() * operations + kBeyondDeadlines;
  const bool ended = engine_->wait(is_over, Deadline::after(engine_->clock(), patience));
  const Engine::Baton baton = engine_->hold();
  exposed_ += engine_->clock().now() - begin;
  if (!ended && failure_.ok()) {
    own_->fail_holding({Code::kInternal, Scope::kGroup, "a step outlived its deadlines"});
    fail(own_->failure_holding());
  }
  return failure_;
}

Status GradientCore::wait(std::size_t parameter) {
  PACELINE_TRY(check(parameter));
  if (is_accumulating_) return argument_error("this micro-step is not reduced: call wait()");
  PACELINE_TRY(end_backward());
  return drive_until([&] {
    return std::ranges::all_of(readiness_.buckets_of(parameter),
                               [&](std::size_t bucket) { return line_.is_finished(bucket); });
  });
}

Result<StepResult> GradientCore::wait() {
  if (is_accumulating_) {
    end_micro_step();
    return StepResult{};
  }
  PACELINE_TRY(end_backward());
  return end_step();
}

void GradientCore::end_micro_step() {
  for (std::size_t i = 0; i < is_touched_.size(); ++i)
    if (readiness_.is_marked(i)) is_touched_[i] = true;
  ++micro_steps_;
  readiness_.clear();
  phase_.store(Phase::kIdle, std::memory_order_release);
}

Result<std::optional<StepResult>> GradientCore::join() {
  if (has_failed_.load()) return told_failure();
  if (phase_ != Phase::kIdle || micro_steps_ > 0 || is_accumulating_)
    return argument_error("who joins has no gradients that wait to be reduced");
  PACELINE_TRY(end_backward(true));
  PACELINE_TRY(drive_until([this] { return ranks_.has_value(); }));
  if (*ranks_ > 0) {
    PACELINE_TRY_ASSIGN(const StepResult result, end_step());
    return std::optional(result);
  }
  close_step();
  return std::optional<StepResult>();
}

Result<StepResult> GradientCore::end_step() {
  PACELINE_TRY(drive_until([this] { return ranks_.has_value() && line_.is_done(); }));
  measured_.add_step(readiness_);
  StepResult result{.ranks = *ranks_, .norm = std::sqrt(tally_.sum_of_squares)};
  close_step();
  if (tally_.overflow != StepTally::kNone) PACELINE_TRY(find_overflow(result));
  if (MeasuredSchedule::is_due(steps_)) PACELINE_TRY(decide_buckets());
  return result;
}

void GradientCore::close_step() {
  {
    const Engine::Baton baton = engine_->hold();
    head_flight_.reset();
    engine_->end_background();
    ++steps_;
  }
  readiness_.clear();
  is_touched_.assign(is_touched_.size(), false);
  micro_steps_ = 0;
  phase_.store(Phase::kIdle, std::memory_order_release);
}

// Sums are the same bits on all ranks, so all of them come here. The sum of finite gradients may be
// infinite: then nobody had it first.
Status GradientCore::find_overflow(StepResult& result) {
  const std::uint64_t own = tally_.local_overflow;
  std::vector<std::uint64_t> all(heads_.size());
  PACELINE_TRY(own_->run(words_request(OperationKind::kAllGather, 1, &own, all.data())));
  const auto had =
      std::ranges::find_if(all, [](std::uint64_t one) { return one != StepTally::kNone; });
  result.overflow = Overflow{.parameter = tally_.overflow};
  if (had != all.end())
    result.overflow = Overflow{.rank = static_cast<int>(had - all.begin()),
                               .parameter = static_cast<std::size_t>(*had)};
  return {};
}

// What the largest gradient is like: the same on all ranks, as it has just been reduced.
std::span<const float> GradientCore::sample() const {
  constexpr std::size_t kMost = std::size_t{1} << 18;
  std::span<const float> largest;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (is_frozen_[i] || parameters_[i].type != DataType::kFloat32) continue;
    const std::span<std::byte> bytes = arena_.of(i);
    const std::span all(reinterpret_cast<const float*>(bytes.data()), parameters_[i].count);
    if (all.size() > largest.size()) largest = all;
  }
  return largest.first(std::min(largest.size(), kMost));
}

Status GradientCore::decide_buckets() {
  std::vector<double> told = measured_.tell();
  {
    const Engine::Baton baton = engine_->hold();
    const PathCost path = line_.meter().cost();
    line_.meter().clear();
    told.insert(told.end(), {path.alpha_us, path.beta_us});
  }
  policy_.tell(sample(), engine_->clock(), told);
  PACELINE_TRY(own_->run(words_request(OperationKind::kAllReduce, told.size(), told.data(),
                                       told.data(), DataType::kFloat64)));
  const int ranks = own_->group().size();
  const std::span<const double> all(told);
  const std::size_t times = parameters_.size();
  measured_.hear(all.first(times), ranks);
  policy_.hear(all.subspan(times + 2));
  const PathCost path{.alpha_us = told[times] / ranks, .beta_us = told[times + 1] / ranks};
  Schedule schedule = measured_.decide(path, is_frozen_);
  if (const std::size_t buckets = schedule.buckets.size(); buckets > 0) {
    const std::size_t typical = arena_.bytes() / buckets;
    const Codec codec = policy_.choose(typical, path);
    if (codec != Codec::kNone)
      schedule = measured_.decide(policy_.path_of(codec, path), is_frozen_);
    for (const std::string& news : policy_.news(typical, path)) tell_log(news);
  }
  set_schedule(std::move(schedule), path);
  return {};
}

void GradientCore::tell_log(const std::string& news) const {
  if (own_->group().rank == 0 && own_->log() != nullptr)
    own_->log()->write(options_.codec == Codec::kAuto ? Severity::kInfo : Severity::kWarning,
                       "gradients: " + news);
}

GradientStats GradientCore::stats() const {
  const Engine::Baton baton = engine_->hold();
  return {.steps = steps_,
          .operations = line_.operations(),
          .bytes_sent = own_->bytes_sent_holding(),
          .plans = plans_,
          .buckets = schedule_.buckets.size(),
          .exposed = exposed_,
          .own_cpu = line_.own_time()};
}

std::string GradientCore::describe() const {
  std::string text;
  for (std::size_t i = 0; i < schedule_.buckets.size(); ++i) {
    const Bucket& bucket = schedule_.buckets[i];
    text += std::to_string(bucket.bytes()) + " bytes";
    if (codecs_[i] != Codec::kNone) text.append(" as ").append(name(codecs_[i]));
    text += ": ";
    text += printable(parameters_[bucket.gradients.front()].name);
    if (bucket.gradients.size() > 1)
      text += " to " + printable(parameters_[bucket.gradients.back()].name) + " (" +
              std::to_string(bucket.gradients.size()) + " gradients)";
    text += "\n";
  }
  return text;
}

}  // namespace paceline
