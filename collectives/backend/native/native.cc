#include "collectives/backend/native/native.h"

#include <algorithm>
#include <utility>

#include "comm/base/digest.h"
#include "comm/base/try.h"

namespace paceline {

NativeBackend::NativeBackend(Transport* transport, Options options)
    : options_(std::move(options)), executors_{Executor(transport), Executor(transport)} {}

Status NativeBackend::start(OperationRequest& request) {
  if (std::exchange(has_next_, false)) {
    std::swap(running_, next_);
    running_uses_ = next_uses_;
    return {};
  }
  PACELINE_TRY_ASSIGN(CachedPlan* const cached, plan_for(request));
  request.set_plan(cached->digest);
  running_uses_ = uses_of(cached->plan->plan(), request);
  running_->start(cached->plan, request.signature, request.input, request.output);
  return {};
}

bool NativeBackend::linger(const Clock& clock, TimePoint& now) {
  running_->advance();
  if (!running_->ended() || !running_->failure().ok()) return false;
  now = clock.now();
  return true;
}

bool NativeBackend::drive(TimePoint) {
  const bool moved = running_->advance();
  return (has_next_ && next_->advance()) || moved;
}

// Between two ranks messages arrive in the order in which they were begun, on both sides that of
// the operations.
NextBegin NativeBackend::begin_next(OperationRequest& request) {
  if (running_->ended()) return NextBegin::kOnlyByStart;
  if (!running_->has_begun_all_messages()) return NextBegin::kNotYet;
  const Result<CachedPlan*> cached = plan_for(request);
  if (!cached.ok()) return NextBegin::kOnlyByStart;  // which says why
  next_uses_ = uses_of((*cached)->plan->plan(), request);
  const bool is_disturbed = overlap(next_uses_.input, running_uses_.output) ||
                            overlap(next_uses_.output, running_uses_.output) ||
                            overlap(next_uses_.output, running_uses_.input);
  if (is_disturbed) return NextBegin::kOnlyByStart;
  request.set_plan((*cached)->digest);
  next_->start((*cached)->plan, request.signature, request.input, request.output);
  has_next_ = true;
  return NextBegin::kBegun;
}

void NativeBackend::forget_next() {
  if (std::exchange(has_next_, false)) next_->finish();
}

NativeBackend::Uses NativeBackend::uses_of(const Plan& plan, const OperationRequest& request) {
  const std::size_t element_bytes = size_of(request.signature.type);
  return {.input = {request.input, plan.shape.input_count * element_bytes},
          .output = {request.output, plan.shape.output_count * element_bytes}};
}

Result<NativeBackend::CachedPlan*> NativeBackend::plan_for(const OperationRequest& operation) {
  const Signature& signature = operation.signature;
  const std::size_t element_bytes = size_of(signature.type);
  // Whoever closes meets everybody else, and adds a number to theirs.
  const bool closes = signature.kind == OperationKind::kClose;
  PlanRequest request{
      .kind = closes ? OperationKind::kAllReduce : signature.kind,
      .rank = options_.rank,
      .ranks = options_.ranks,
      .root = std::max(signature.root, 0),
      .count = signature.count,
      .segment_count = std::max<std::size_t>(1, options_.segment_bytes / element_bytes)};
  if (!options_.hosts.empty()) request.hosts = &options_.hosts;
  if (has_counts(signature.kind)) {
    request.count = 0;
    request.counts.assign(operation.counts, operation.counts + options_.ranks);
  }
  if (signature.kind == OperationKind::kAllToAllV)
    request.recv_counts.assign(operation.recv_counts, operation.recv_counts + options_.ranks);
  CachedPlan* cached = find(request, element_bytes);
  if (cached == nullptr) {
    const SelectOptions options{.model = options_.within_host,
                                .between_hosts = options_.between_hosts,
                                .forced = options_.algorithm,
                                .in_rank_order = options_.in_rank_order};
    PACELINE_TRY_ASSIGN(const Algorithm* const algorithm, select(request, element_bytes, options));
    if (options_.explains != nullptr && !closes)
      explain(*algorithm, request, element_bytes, options);
    std::string how = std::string(algorithm->name) + "/" + std::to_string(request.segment_count);
    if (signature.kind != OperationKind::kAllToAllV) {
      for (const std::size_t count : request.counts) how.append("/").append(std::to_string(count));
    }
    cached = insert({.request = request,
                     .element_bytes = element_bytes,
                     .digest = static_cast<std::uint32_t>(digest(how)),
                     .plan = std::make_shared<const CompiledPlan>(algorithm->plan(request))});
  }
  cached->last_use = ++uses_;
  return cached;
}

void NativeBackend::explain(const Algorithm& algorithm, const PlanRequest& request,
                            std::size_t element_bytes, const SelectOptions& options) {
  if (!explained_.insert(&algorithm).second) return;
  const Shape shape = shape_of(request);
  const std::size_t bytes = std::max(shape.input_count, shape.output_count) * element_bytes;
  std::string why = "PACELINE_ALGORITHM asks for it";
  if (algorithm.name != options.forced)
    why = "the predicted times are " + predictions(request, element_bytes, options);
  options_.explains->write(Severity::kInfo, std::string(paceline::name(algorithm.kind)) + " of " +
                                                std::to_string(bytes) + " B: " +
                                                std::string(algorithm.name) + ", because " + why);
}

NativeBackend::CachedPlan* NativeBackend::find(const PlanRequest& request,
                                               std::size_t element_bytes) {
  const auto same = [&](const CachedPlan& cached) {
    return cached.request == request && cached.element_bytes == element_bytes;
  };
  const auto found = std::find_if(cache_.begin(), cache_.end(), same);
  return found == cache_.end() ? nullptr : &*found;
}

NativeBackend::CachedPlan* NativeBackend::insert(CachedPlan fresh) {
  if (cache_.size() < kCachedPlans) return &cache_.emplace_back(std::move(fresh));
  const auto oldest = std::min_element(
      cache_.begin(), cache_.end(),
      [](const CachedPlan& a, const CachedPlan& b) { return a.last_use < b.last_use; });
  *oldest = std::move(fresh);
  return &*oldest;
}

}  // namespace paceline
