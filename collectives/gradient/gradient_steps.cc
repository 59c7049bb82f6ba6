// The steps of a GradientCore as its caller sees them; gradient_core.cc has what goes on meanwhile.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "collectives/gradient/gradient_core.h"
#include "collectives/requests.h"
#include "comm/base/argument_error.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/completion.h"
#include "comm/exit.h"

namespace paceline {
namespace {

// An operation ends by its own deadline; a wait for some of them, so much later.
constexpr Duration kBeyondDeadlines = std::chrono::seconds(60);

}  // namespace

Status GradientCore::check_between_steps(const char* what) const {
  PACELINE_TRY(failure());
  if (phase_ == Phase::kIdle && micro_steps_ == 0) return {};
  return argument_error(std::string("a step has begun; ") + what + " between steps");
}

Status GradientCore::set_accumulating(bool is_accumulating) {
  PACELINE_TRY(failure());
  if (phase_ != Phase::kIdle)
    return argument_error("a micro-step has begun; change accumulation between micro-steps");
  is_accumulating_ = is_accumulating;
  return {};
}

Status GradientCore::set_frozen(std::size_t parameter, bool is_frozen) {
  PACELINE_TRY(check_place(parameter));
  PACELINE_TRY(check_between_steps("freeze gradients"));
  if (is_frozen_[parameter] == is_frozen) return {};
  is_frozen_[parameter] = is_frozen;
  // The error belongs to a gradient that is not computed any more.
  if (feedback_.is_kept()) feedback_.clear(arena_.place(parameter));
  set_schedule(measured_.first(is_frozen_, policy_.current() != Codec::kNone), {});
  return {};
}

Status GradientCore::set_loss_scale(double scale) {
  if (!(scale > 0) || !std::isfinite(scale))
    return argument_error("a loss scale is a finite number above 0");
  PACELINE_TRY(check_between_steps("change the loss scale"));
  if (scale == loss_scale_) return {};
  if (feedback_.is_kept()) feedback_.scale(static_cast<float>(scale / loss_scale_));
  loss_scale_ = scale;
  return {};
}

// A gradient that no micro-step has touched counts as zeros. All become ready at the same time:
// their order in buckets must not depend on how long this loop takes.
Status GradientCore::mark_unused(DeviceStream stream) {
  if (mirror_ != nullptr) return mark_unused_on_device(stream);
  const double since_us = since_opened_us();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (is_frozen_[i] || readiness_.is_marked(i)) continue;
    const std::span<std::byte> gradient = arena_.of(i);
    if (!has_data(i) && !gradient.empty()) std::memset(gradient.data(), 0, gradient.size());
    readiness_.mark_rest(i, since_us);
  }
  return {};
}

Status GradientCore::end_backward(DeviceStream stream) {
  if (phase_ == Phase::kEnding) return {};
  PACELINE_TRY(open_step(false));
  PACELINE_TRY(mark_unused(stream));
  phase_.store(Phase::kEnding, std::memory_order_release);
  return {};
}

void GradientCore::expose_from(TimePoint begin) {
  if (!StepLedger::of_process().counts_here()) return;
  const Engine::Baton baton = engine_->hold();
  held_.queue().begin_exposed(begin);
}

Status GradientCore::drive_until(FunctionRef<bool()> condition) {
  const auto begin = engine_->clock().now();
  const auto is_over = [&] { return !failure_.ok() || condition(); };
  const auto operations = static_cast<Duration::rep>(2 + 2 * schedule_.buckets.size());
  const Duration patience = own_.timeout() * operations + kBeyondDeadlines;
  expose_from(begin);
  const bool ended = engine_->wait(is_over, Deadline::after(engine_->clock(), patience));
  const Engine::Baton baton = engine_->hold();
  exposed_ += engine_->clock().now() - begin;
  held_.queue().end_exposed();
  if (!ended && failure_.ok()) {
    held_.fail(engine_->is_stopped()
                   ? exit_error()
                   : Status(Code::kInternal, Scope::kGroup, "a step did not end by its deadline"));
    fail(held_.failure());
  }
  return failure_;
}

Status GradientCore::wait(std::size_t parameter, WaitingStream stream) {
  PACELINE_TRY(check_stream(stream.value_or(nullptr)));
  return drained(wait_for(parameter, stream));
}

Status GradientCore::wait_for(std::size_t parameter, WaitingStream stream) {
  PACELINE_TRY(check(parameter));
  if (is_accumulating_)
    return argument_error("this micro-step only accumulates; call wait() without a parameter");
  PACELINE_TRY(end_backward(stream.value_or(nullptr)));
  const std::span<const std::size_t> buckets = readiness_.buckets_of(parameter);
  PACELINE_TRY(drive_until([&] {
    return std::ranges::all_of(buckets, [&](std::size_t bucket) {
      return line_.is_finished(bucket) && is_back(bucket, stream);
    });
  }));
  return let_wait(buckets, stream);
}

Result<StepResult> GradientCore::wait(WaitingStream stream) {
  PACELINE_TRY(check_stream(stream.value_or(nullptr)));
  return drained(wait_for_all(stream));
}

Result<StepResult> GradientCore::wait_for_all(WaitingStream stream) {
  if (is_accumulating_) {
    PACELINE_TRY(failure());
    end_micro_step();
    return StepResult{};
  }
  PACELINE_TRY(end_backward(stream.value_or(nullptr)));
  return end_step(stream);
}

void GradientCore::end_micro_step() {
  for (std::size_t i = 0; i < is_touched_.size(); ++i)
    if (readiness_.has_begun(i)) is_touched_[i] = true;
  ++micro_steps_;
  readiness_.clear();
  phase_.store(Phase::kIdle, std::memory_order_release);
}

Result<std::optional<StepResult>> GradientCore::join(WaitingStream stream) {
  PACELINE_TRY(check_stream(stream.value_or(nullptr)));
  return drained(join_step(stream));
}

Result<std::optional<StepResult>> GradientCore::join_step(WaitingStream stream) {
  if (has_failed_.load()) return told_failure();
  if (phase_ != Phase::kIdle || micro_steps_ > 0 || is_accumulating_)
    return argument_error(
        "this rank has gradients that are not reduced yet; end their step before join()");
  PACELINE_TRY(open_step(true));
  phase_.store(Phase::kEnding, std::memory_order_release);
  PACELINE_TRY(drive_until([this] { return ranks_.has_value(); }));
  if (*ranks_ == 0) {
    close_step();
    return std::optional<StepResult>();
  }
  // A step takes place. Otherwise nothing would wait for zeros that are copied to a device.
  PACELINE_TRY(mark_unused(stream.value_or(nullptr)));
  PACELINE_TRY_ASSIGN(const StepResult result, end_step(stream));
  return std::optional(result);
}

Result<StepResult> GradientCore::end_step(WaitingStream stream) {
  PACELINE_TRY(drive_until([&] { return ranks_ && line_.is_done() && are_back(stream); }));
  PACELINE_TRY(let_wait_for_all(stream));
  StepResult result{.ranks = *ranks_, .norm = std::sqrt(line_.sum_of_squares())};
  const bool counts = tally_.overflow == StepTally::kNone;
  settle_feedback(counts);
  if (counts) measured_.add_step(readiness_);
  close_step();
  if (!counts && options_.finds_overflow) PACELINE_TRY(find_overflow(result));
  if (counts && measures_ && MeasuredSchedule::is_due(++counted_)) PACELINE_TRY(decide_buckets());
  return result;
}

// All ranks skip the update of a step that does not count. Such a step changes neither codec state
// nor the measurements that decide buckets. All ranks have reduced the same bits, so they decide
// alike.
void GradientCore::settle_feedback(bool counts) {
  if (counts) {
    feedback_.commit();
    bases_.commit();
  } else {
    bases_.roll_back();
  }
}

void GradientCore::close_step() {
  {
    const Engine::Baton baton = engine_->hold();
    head_flight_.reset();
    held_.listen(false);
    engine_->end_background();
    ++steps_;
  }
  readiness_.clear();
  is_touched_.assign(is_touched_.size(), false);
  micro_steps_ = 0;
  phase_.store(Phase::kIdle, std::memory_order_release);
}

// Sums are the same bits on all ranks, so all of them come here. NCCL does not document that of its
// own; it is assumed. The sum of finite gradients may be
// infinite: then nobody had it first.
Status GradientCore::find_overflow(StepResult& result) {
  const std::uint64_t own = tally_.local_overflow;
  std::vector<std::uint64_t> all(heads_.size());
  PACELINE_TRY(own_.run(requests::all_gather(&own, all.data(), 1, DataType::kUInt64)));
  const auto had =
      std::ranges::find_if(all, [](std::uint64_t one) { return one != StepTally::kNone; });
  result.overflow = Overflow{.parameter = tally_.overflow};
  if (had != all.end())
    result.overflow = Overflow{.rank = static_cast<int>(had - all.begin()),
                               .parameter = static_cast<std::size_t>(*had)};
  return {};
}

GradientStats GradientCore::stats() const {
  const Engine::Baton baton = engine_->hold();
  return {.steps = steps_,
          .operations = line_.operations(),
          .bytes_sent = held_.stats().bytes_sent,
          .plans = plans_,
          .buckets = schedule_.buckets.size(),
          .exposed = exposed_,
          .own_cpu = line_.own_time()};
}

}  // namespace paceline
