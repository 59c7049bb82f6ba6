#include "collectives/operation_queue.h"

#include <algorithm>
#include <string>
#include <utility>

#include "comm/base/argument_error.h"
#include "comm/base/assert.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// Apart from their callers, which all operations pass through.
[[gnu::cold, gnu::noinline]] Status queue_error(std::size_t queued) {
  return Status(
      Code::kExhausted, Scope::kOperation,
      std::to_string(queued) + " operations are outstanding, the max; wait for some of them");
}
[[gnu::cold, gnu::noinline]] Status in_call(OperationKind kind, const Status& error) {
  return error.with_context(name(kind));
}

// The messages of the next operation may leave while the last of this one are on their way. A
// barrier says that what was before it has ended.
bool may_overlap(const OperationRequest& running, const OperationRequest& next) {
  const OperationKind kind = next.signature.kind;
  return is_collective(running.signature.kind) && is_collective(kind) &&
         kind != OperationKind::kBarrier && kind != OperationKind::kClose &&
         !Staging::is_needed(next);
}

// The request of the operation's first part, or of all of it. False if that may not begin yet.
bool find_request(QueuedOperation& operation) {
  if (operation.stage != nullptr) operation.borrowed = operation.stage->next_part();
  return operation.stage == nullptr || operation.borrowed != nullptr;
}

// Null: the queue chooses.
CollectiveBackend* own_backend(const QueuedOperation& operation) {
  return operation.stage != nullptr ? operation.stage->backend() : nullptr;
}

// A backend of its own uses other memory than the request's.
bool needs_staging(const QueuedOperation& operation) {
  return own_backend(operation) == nullptr && Staging::is_needed(operation.request());
}

TimePoint waited_since(const Completion& completion) {
  const std::int64_t waited_ns = completion.waited_since_ns.load();
  return waited_ns != 0 ? TimePoint(Duration(waited_ns)) : TimePoint::max();
}

}  // namespace

OperationQueue::OperationQueue(const CommunicatorParts& parts)
    : parts_(parts),
      clock_(parts.engine->clock()),
      timeout_(parts.timeout),
      pairwise_(parts.transport.get(), parts.group.rank, parts.group.size()),
      backend_(&pairwise_) {
  choices_.fill({&pairwise_, SIZE_MAX});
  for (const OperationKind kind : kOperationKinds) {
    const auto serves = [&](const auto& backend) { return backend->most_bytes(kind).has_value(); };
    const auto found = std::find_if(parts_.backends.begin(), parts_.backends.end(), serves);
    PACELINE_ASSERT(found != parts_.backends.end() || !is_collective(kind));
    if (found == parts_.backends.end()) continue;
    choices_[static_cast<std::size_t>(kind)] = {found->get(), *(*found)->most_bytes(kind)};
  }
}

Status OperationQueue::check(const OperationRequest& request) const {
  if (is_closed_) return argument_error("the communicator is closed");
  const Status invalid = is_collective(request.signature.kind)
                             ? validate(request, parts_.group.rank, parts_.group.size())
                             : pairwise_.validate(request);
  if (!invalid.ok()) return in_call(request.signature.kind, invalid);
  return check_room(1);
}

Status OperationQueue::check_room(std::size_t operations) const {
  return waiting_.size() + operations > kMaxQueued ? queue_error(waiting_.size()) : Status();
}

Status OperationQueue::check_many(std::span<const Tensor> tensors,
                                  const OperationRequest& request) const {
  PACELINE_TRY(check(request));
  const Status invalid = validate_tensors(tensors, request, parts_.group.size());
  if (!invalid.ok()) return in_call(request.signature.kind, invalid);
  return check_room(tensors.size());
}

QueuedOperation& OperationQueue::enter(OperationRequest* borrowed,
                                       const OperationRequest& request) {
  QueuedOperation& operation = is_empty() ? current_ : waiting_.push_back();
  operation.borrowed = borrowed;
  if (borrowed == nullptr) operation.own = request;
  operation.timeout = timeout_;
  operation.stage = nullptr;
  operation.in_background = false;
  operation.is_exposed =
      borrowed != nullptr && parts_.ledger != nullptr && parts_.ledger->counts_here();
  if (&operation != &current_) {
    operation.called_at = clock_.now();
  } else {
    operation.called_at.reset();
    is_running_ = true;
  }
  return operation;
}

void OperationQueue::enter_staged(OperationStage& stage) {
  QueuedOperation& operation = waiting_.push_back();
  operation.called_at = clock_.now();
  operation.timeout = timeout_;
  operation.stage = &stage;
  operation.in_background = true;
  operation.is_exposed = false;
}

CollectiveBackend* OperationQueue::choose(const Signature& signature) const {
  const Choice& choice = choices_[static_cast<std::size_t>(signature.kind)];
  const bool is_within = choice.most_bytes == SIZE_MAX ||
                         signature.count * size_of(signature.type) <= choice.most_bytes;
  return is_within ? choice.backend : parts_.backends.back().get();
}

CollectiveBackend* OperationQueue::choose(const QueuedOperation& operation) const {
  CollectiveBackend* const own = own_backend(operation);
  return own != nullptr ? own : choose(operation.signature());
}

// A short operation mostly ends in here. Nothing is noted, and the clock is not read, before the
// others have what this rank contributes. So a rank that crashes over its own input is on record
// with the operation before.
Status OperationQueue::begin() {
  OperationRequest& request = current_.request();
  const Signature& signature = request.signature;
  sign(request);
  backend_ = choose(current_);
  is_next_settled_ = false;
  if (needs_staging(current_)) {
    if (!current_.called_at) current_.called_at = clock_.now();
    staging_.prepare(request, parts_.group.size());
  }
  Status refused = backend_->start(request);
  TimePoint now = clock_.now();
  if (!current_.called_at) current_.called_at = now;
  current_.begun_at = now;
  current_.flight_place = parts_.flight->start(signature, now);
  if (!refused.ok()) return refused;
  if (is_collective(signature.kind)) history_.begin(signature, request.next_history);
  if (backend_->linger(clock_, now)) end_running({}, now);
  return {};
}

// Signs the request as the next operation.
void OperationQueue::sign(OperationRequest& request) const {
  request.signature.sequence = history_.begun();
  request.signature.history = history_.digest();
}

bool OperationQueue::advance() {
  if (is_running_) return false;
  if (!is_between_parts_) {
    if (waiting_.empty()) return false;
    current_ = std::move(waiting_.front());
    waiting_.pop_front();
  }
  is_running_ = find_request(current_);
  is_between_parts_ = !is_running_;
  return is_running_;
}

bool OperationQueue::begin_early() {
  if (!is_running_ || is_next_settled_ || current_.stage != nullptr || waiting_.empty() ||
      !find_request(waiting_.front()))
    return false;
  QueuedOperation& operation = waiting_.front();
  OperationRequest& next = operation.request();
  is_next_settled_ = !may_overlap(current_.request(), next) || choose(operation) != backend_;
  if (is_next_settled_) return false;
  sign(next);
  const NextBegin how = backend_->begin_next(next);
  is_next_settled_ = how != NextBegin::kNotYet;
  return how == NextBegin::kBegun;
}

void OperationQueue::end_running(const Status& how, TimePoint now) {
  backend_->finish();
  is_running_ = false;
  const Duration exposed = count_exposed(current_, now);
  if (how.ok()) {
    if (!current_.request().tensors.empty()) staging_.deliver();
    parts_.flight->finish(current_.flight_place, FlightState::kSucceeded, now);
    const Signature& signature = current_.signature();
    parts_.flight->count(signature, {.called = *current_.called_at,
                                     .ended = now,
                                     .exposed = exposed,
                                     .is_root = signature.root == parts_.group.rank});
  } else {
    parts_.flight->finish(current_.flight_place, FlightState::kFailed, now, blamed_for(how));
  }
  is_between_parts_ = how.ok() && current_.stage != nullptr && current_.stage->end_part();
  if (!is_between_parts_) end(current_, how, now);
}

void OperationQueue::end_all(const Status& why, TimePoint now) {
  if (is_running_) {
    backend_->forget_next();
    end_running(why, now);
  } else if (std::exchange(is_between_parts_, false)) {
    end(current_, why, now);
  }
  for (; !waiting_.empty(); waiting_.pop_front()) end(waiting_.front(), why, now);
}

// A wait for several operations is shared out: each gets what lies after the end of the one before.
Duration OperationQueue::count_exposed(const QueuedOperation& operation, TimePoint now) {
  if (parts_.ledger == nullptr) return {};
  TimePoint since = operation.in_background ? exposed_since_ : TimePoint::max();
  if (operation.is_exposed) since = *operation.called_at;
  if (operation.completion != nullptr) since = std::min(since, waited_since(*operation.completion));
  return count_exposed(since, now);
}

void OperationQueue::count_wait(const Completion& completion, TimePoint now) {
  if (parts_.ledger != nullptr) (void)count_exposed(waited_since(completion), now);
}

Duration OperationQueue::count_exposed(TimePoint since, TimePoint now) {
  since = std::max(since, exposed_until_);
  if (since >= now) return {};
  exposed_until_ = now;
  return parts_.ledger->add_exposed(since, now);
}

// If two ranks disagree, the other one is not more to blame than this rank.
int OperationQueue::blamed_for(const Status& how) const {
  const int rank = how.culprit().rank;
  if ((how.code() != Code::kPeerLost && how.code() != Code::kTimeout) || rank < 0) return -1;
  const std::vector<int>& known = parts_.membership.flight_ranks;
  return known.empty() ? rank : known[static_cast<std::size_t>(rank)];
}

void OperationQueue::end(QueuedOperation& operation, const Status& how, TimePoint now) {
  if (operation.stage != nullptr) std::exchange(operation.stage, nullptr)->end(how);
  ++stats_.operations;
  if (operation.in_background) {
    parts_.engine->end_background();
  } else {
    stats_.time_blocked += now - *operation.called_at;
  }
  if (operation.completion == nullptr) return;
  operation.completion->end(how);
  operation.completion.reset();
}

Account OperationQueue::account() const {
  const std::vector<int> awaited = is_running_ ? backend_->awaited() : std::vector<int>();
  return {.begun = history_.begun(),
          .running = is_running_,
          .waits_for_device = !is_running_ && !is_empty(),
          .recent = history_.recent(),
          .awaited = {awaited.begin(), awaited.end()}};
}

}  // namespace paceline
