#include "collectives/gradient/gradient_core.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "collectives/gradient/agreement.h"
#include "collectives/reduce/kernels.h"
#include "collectives/requests.h"
#include "comm/base/argument_error.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/completion.h"

namespace paceline {
namespace {

std::vector<std::uint32_t> uses_of(std::span<const Parameter> parameters) {
  std::vector<std::uint32_t> uses;
  for (const Parameter& one : parameters) uses.push_back(static_cast<std::uint32_t>(one.uses));
  return uses;
}

// Measured times differ from run to run. So no decision may depend on them if results must have the
// same bits. A named codec is used; kAuto uses no codec.
GradientOptions without_measuring(GradientOptions options, bool measures) {
  if (measures) return options;
  if (options.codec == Codec::kAuto) options.codec = Codec::kNone;
  options.forces_codec = options.codec != Codec::kNone;
  return options;
}

}  // namespace

GradientCore::GradientCore(Communicator own, GradientArena arena,
                           std::unique_ptr<DeviceMirror> mirror, std::vector<Parameter> parameters,
                           const GradientOptions& options, bool by_library)
    : communicator_(std::move(own)),
      own_(*communicator_.core()),
      held_(own_.held()),
      engine_(own_.parts().engine),
      arena_(std::move(arena)),
      mirror_(std::move(mirror)),
      parameters_(std::move(parameters)),
      by_library_(by_library),
      measures_(own_.parts().determinism == Determinism::kFast && !by_library),
      options_(without_measuring(options, measures_)),
      digest_(digest_of(parameters_, options)),
      readiness_(uses_of(parameters_)),
      is_frozen_(parameters_.size()),
      is_touched_(parameters_.size()),
      policy_(options_, own_.group().size()),
      feedback_(policy_.keeps_residuals() ? arena_.bytes() / sizeof(float) : 0),
      bases_(arena_, static_cast<std::size_t>(options.power_sgd_rank)),
      measured_(arena_, parameters_, options_),
      line_(held_, {.bytes_in_flight = options.max_bytes_in_flight},
            [this](const OperationRequest& request) { return start_operation(request); }),
      heads_(static_cast<std::size_t>(own_.group().size())) {
  if (by_library_) {
    if (needs_kernels(options_)) looks_.emplace(*mirror_);
    scratch_.emplace(*mirror_);
  }
  set_schedule(measured_.first(is_frozen_, policy_.current() != Codec::kNone), {});
  if (options.codec == Codec::kAuto && !measures_)
    tell_log(
        "codec auto is off under run_stable and placement_stable, because it chooses by measured "
        "times, which differ between runs; name a codec to use one");
  const Engine::Baton baton = engine_->hold();
  engine_->attach(*this);
  if (mirror_ != nullptr) mirror_->open(*this);
}

GradientCore::~GradientCore() {
  {
    const Engine::Baton baton = engine_->hold();
    if (head_flight_ != nullptr) {
      held_.fail(held_.cancelled_here("destroyed its gradient pipeline during step " +
                                      std::to_string(steps_)));
      held_.listen(false);
      engine_->end_background();
    }
    engine_->detach(*this);
  }
  if (mirror_ == nullptr) return;
  if (!drain_library()) mirror_->leave_behind();
  mirror_->leave(arena_);
}

std::string GradientCore::named(std::size_t parameter) const {
  return "gradient " + std::to_string(parameter) + " (" + printable(parameters_[parameter].name) +
         ")";
}

Status GradientCore::check_place(std::size_t parameter) const {
  return check_gradient(parameter, parameters_.size());
}

Status GradientCore::check(std::size_t parameter) const {
  PACELINE_TRY(check_place(parameter));
  if (is_frozen_[parameter]) return argument_error(named(parameter) + " is frozen");
  return {};
}

Status GradientCore::told_failure() const {
  const Engine::Baton baton = engine_->hold();
  return failure_;
}

std::span<std::byte> GradientCore::gradient(std::size_t parameter) const {
  if (parameter >= parameters_.size()) return {};
  const std::span<std::byte> on_host = arena_.of(parameter);
  if (mirror_ == nullptr) return on_host;
  return {mirror_->at(arena_.place(parameter).begin), on_host.size()};
}

Status GradientCore::ready(std::size_t parameter, DeviceStream stream) {
  if (mirror_ != nullptr) return drained(ready_on_device(parameter, nullptr, stream));
  PACELINE_TRY(check_stream(stream));
  return mark_ready(parameter);
}

Status GradientCore::ready(std::size_t parameter, const void* gradient, DeviceStream stream) {
  if (mirror_ == nullptr) {
    PACELINE_TRY(check_stream(stream));
    return mark_ready(parameter, gradient);
  }
  PACELINE_TRY(check_from(parameter, gradient));
  return drained(ready_on_device(parameter, gradient, stream));
}

Status GradientCore::mark_ready(std::size_t parameter, const void* gradient) {
  if (has_failed_.load(std::memory_order_acquire)) return told_failure();
  PACELINE_TRY(check(parameter));
  if (readiness_.is_marked(parameter)) return ready_too_often(parameter);
  const std::span<std::byte> to = arena_.of(parameter);
  if (to.empty()) return mark_ready(parameter);
  if (gradient == nullptr) return argument_error(named(parameter) + ": the pointer is null");
  if (is_touched_[parameter] || readiness_.has_begun(parameter))
    kernels()
        .of(parameters_[parameter].type)
        .reduction(ReduceOp::kSum)(to.data(), to.data(), gradient, parameters_[parameter].count);
  else
    std::memcpy(to.data(), gradient, to.size());
  return mark_ready(parameter);
}

Status GradientCore::ready_too_often(std::size_t parameter) const {
  const std::uint32_t uses = readiness_.uses(parameter);
  return argument_error(named(parameter) + " is ready more than " +
                        (uses == 1 ? "once" : std::to_string(uses) + " times") +
                        "; call wait() before the next backward");
}

double GradientCore::since_opened_us() const {
  return std::chrono::duration<double, std::micro>(engine_->clock().now() - opened_at_).count();
}

// The first one opens the step.
Status GradientCore::begin_ready(std::size_t parameter) {
  if (has_failed_.load(std::memory_order_acquire)) return told_failure();
  PACELINE_TRY(check(parameter));
  if (phase_.load(std::memory_order_acquire) == Phase::kIdle) PACELINE_TRY(open_step(false));
  if (phase_.load(std::memory_order_acquire) == Phase::kEnding)
    return argument_error(named(parameter) +
                          " is ready, but wait() was not called for the previous step");
  return {};
}

Status GradientCore::mark_ready(std::size_t parameter) {
  PACELINE_TRY(begin_ready(parameter));
  const auto marked = readiness_.mark(parameter, since_opened_us());
  if (marked == Readiness::Marked::kTooOften) return ready_too_often(parameter);
  if (marked == Readiness::Marked::kWholeBucket && !is_accumulating_) engine_->nudge();
  return {};
}

// By whichever thread is the first.
Status GradientCore::open_step(bool has_joined) {
  const std::lock_guard lock(opening_);
  if (phase_.load() != Phase::kIdle) return {};
  opened_at_ = engine_->clock().now();
  if (!is_accumulating_) {
    const Engine::Baton baton = engine_->hold();
    if (!failure_.ok()) return failure_;
    head_ = {.step = steps_,
             .micro_steps = micro_steps_ + 1,
             .plan = digest_of(schedule_, codecs_, is_frozen_, loss_scale_),
             .has_joined = has_joined ? 1u : 0u};
    ranks_.reset();
    tally_ = {};
    line_.begin();
    if (mirror_ != nullptr) mirror_->begin_step(parameters_.size(), schedule_.buckets.size());
    head_flight_ = held_.start(
        requests::all_gather(&head_, heads_.data(), StepHead::kWords, DataType::kUInt64));
    held_.listen(true);
    engine_->begin_background();
  }
  phase_.store(Phase::kBackward, std::memory_order_release);
  return {};
}

bool GradientCore::drive(TimePoint now) {
  if (head_flight_ == nullptr || !failure_.ok()) return false;
  if (!held_.failure().ok()) {
    fail(held_.failure());
    return true;
  }
  const bool moved = drive_head(now);
  if (head_.has_joined != 0 && ranks_.value_or(0) == 0) return moved;
  const auto is_ready = [this](std::size_t bucket) { return readiness_.is_ready(bucket); };
  const bool line_moved = line_.drive(is_ready, tally_, now);
  if (!line_.failure().ok()) fail(line_.failure());
  if (line_moved && copies()) copy_up();
  return moved || line_moved;
}

bool GradientCore::drive_head(TimePoint now) {
  if (ranks_ || !head_flight_->has_ended()) return false;
  if (!head_flight_->status.ok()) {
    fail(head_flight_->status);
    return true;
  }
  const Result<int> judged = judge_heads(heads_, own_.group());
  if (!judged.ok()) {
    held_.fail(judged.status());
    fail(judged.status());
    return true;
  }
  ranks_ = *judged;
  tally_.ranks = static_cast<std::uint64_t>(std::max(*judged, 1));
  line_.head_has_landed(*judged, now);
  return true;
}

// The caller knows steps, and not the operations that they consist of.
void GradientCore::fail(const Status& why) {
  Culprit culprit = why.culprit();
  culprit.operation = "gradient step " + std::to_string(steps_);
  culprit.sequence = static_cast<std::int64_t>(steps_);
  failure_ = why.with_culprit(std::move(culprit));
  has_failed_.store(true, std::memory_order_release);
}

}  // namespace paceline
