#include "collectives/communicator_core.h"

#include <algorithm>
#include <string>
#include <utility>

#include "collectives/validation.h"
#include "comm/base/argument_error.h"
#include "comm/base/assert.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// How long those outside wait for an answer at most while operations end at once.
constexpr Duration kServeEvery = std::chrono::milliseconds(50);
// A destructor's patience with words that are on their way; they give up before.
constexpr Duration kLeavingTime = std::chrono::seconds(5);
// A blocking call's own patience beyond its operation's deadline, which ends it by itself.
constexpr Duration kBeyondDeadline = std::chrono::seconds(60);

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

}  // namespace

CommunicatorCore::CommunicatorCore(Parts parts)
    : parts_(std::move(parts)),
      clock_(parts_.engine->clock()),
      pairwise_(parts_.transport.get(), parts_.group.rank, parts_.group.size()),
      backend_(&pairwise_),
      watch_(parts_.report_every),
      ends_sends_early_(parts_.transport != nullptr && parts_.transport->ends_sends_early()) {
  choices_.fill({&pairwise_, SIZE_MAX});
  for (const OperationKind kind : kOperationKinds) {
    if (!is_collective(kind)) continue;
    const auto serves = [&](const auto& backend) { return backend->most_bytes(kind).has_value(); };
    const auto found = std::find_if(parts_.backends.begin(), parts_.backends.end(), serves);
    PACELINE_ASSERT(found != parts_.backends.end());
    choices_[static_cast<std::size_t>(kind)] = {found->get(), *(*found)->most_bytes(kind)};
  }
  {
    const Engine::Baton baton = parts_.engine->hold();
    if (parts_.transport != nullptr) parts_.transport->set_sink(this);
  }
  exit_entry_.enter(*this);
}

CommunicatorCore::~CommunicatorCore() {
  exit_entry_.leave();
  leave("destroyed its communicator",
        Status(Code::kCancelled, Scope::kGroup, "the communicator was destroyed"));
  const auto flushed = [this] { return !flushing_; };
  (void)parts_.engine->wait(flushed, Deadline::after(clock_, kLeavingTime));
  const Engine::Baton baton = parts_.engine->hold();
  if (flushing_) parts_.engine->end_background();
  if (is_driven_) parts_.engine->detach(*this);
}

CommunicatorStats CommunicatorCore::stats() const {
  if (is_of_another_process()) return {};
  const Engine::Baton baton = parts_.engine->hold();
  CommunicatorStats stats = stats_;
  if (parts_.transport != nullptr) {
    stats.messages_sent = parts_.transport->counters().messages_sent;
    stats.bytes_sent = parts_.transport->counters().bytes_sent;
  }
  return stats;
}

Status CommunicatorCore::run(OperationRequest&& request) {
  if (is_of_another_process()) [[unlikely]]
    return refuse_child();
  Engine& engine = *parts_.engine;
  Completion completion;
  Duration timeout{};
  {
    const Engine::Baton baton = engine.hold();
    timeout = parts_.timeout;
    serve_others();
    if (!is_plainly_admitted(request)) PACELINE_TRY(admit(request));
    Operation* const operation = enter(&request, request);
    if (operation == nullptr) return failure_;
    // Not owned: this frame waits for the end.
    operation->completion = std::shared_ptr<Completion>(std::shared_ptr<void>(), &completion);
  }
  const auto ended = [&completion] { return completion.has_ended(); };
  if (!engine.wait(ended, Deadline::after(clock_, timeout + kBeyondDeadline))) {
    if (engine.is_stopped()) end_with_process();
    const Engine::Baton baton = engine.hold();
    fail(Status(Code::kInternal, Scope::kGroup, "an operation did not end by its deadline"),
         clock_.now());
  }
  return std::move(completion.status);
}

Work refused_work(Status why) {
  auto completion = std::make_shared<WorkCompletion>();
  completion->end(std::move(why));
  return Work(nullptr, std::move(completion));
}

Work CommunicatorCore::start(const OperationRequest& request) {
  if (is_of_another_process()) return refused_work(refuse_child());
  const Engine::Baton baton = parts_.engine->hold();
  serve_others();
  return Work(parts_.engine, start_holding(request));
}

std::shared_ptr<const WorkCompletion> CommunicatorCore::start_holding(
    const OperationRequest& request) {
  auto completion = std::make_shared<WorkCompletion>();
  if (Status refused = admit(request); !refused.ok()) {
    completion->end(std::move(refused));
  } else if (Operation* const operation = enter(nullptr, request); operation == nullptr) {
    completion->end(failure_);
  } else {
    completion->owner = this;
    operation->completion = completion;
    operation->in_background = true;
    parts_.engine->begin_background();
  }
  return completion;
}

// As several operations, of which the last ends when all have: an error of one is that of all.
Work CommunicatorCore::start_many(std::span<const Tensor> tensors, OperationRequest request) {
  if (is_of_another_process()) return refused_work(refuse_child());
  auto completion = std::make_shared<WorkCompletion>();
  const Engine::Baton baton = parts_.engine->hold();
  serve_others();
  Status refused = admit_many(tensors, request);
  Operation* last = nullptr;
  const std::size_t small_bytes = backend_for(request.signature)->small_bytes();
  while (refused.ok() && !tensors.empty()) {
    const std::size_t together =
        tensors_together(tensors, size_of(request.signature.type), small_bytes);
    last = enter(nullptr, request_of(tensors.first(together), request));
    tensors = tensors.subspan(together);
    if (last == nullptr) {
      refused = failure_;
    } else {
      last->in_background = true;
      parts_.engine->begin_background();
    }
  }
  if (last != nullptr && refused.ok()) {
    completion->owner = this;
    last->completion = completion;
  } else {
    completion->end(std::move(refused));
  }
  return Work(parts_.engine, std::move(completion));
}

Status CommunicatorCore::set_timeout(std::chrono::milliseconds timeout) {
  PACELINE_TRY(refuse_child());
  if (timeout.count() < 1 || timeout > kLongestTimeout)
    return argument_error("timeout " + std::to_string(timeout.count()) +
                          " ms is not allowed; use 1 ms to 1 year");
  const Engine::Baton baton = parts_.engine->hold();
  parts_.timeout = timeout;
  return {};
}

Duration CommunicatorCore::timeout() const {
  const Engine::Baton baton = parts_.engine->hold();
  return parts_.timeout;
}

std::uint64_t CommunicatorCore::operations_begun() const {
  const Engine::Baton baton = parts_.engine->hold();
  return history_.begun();
}

Status CommunicatorCore::failure() const {
  PACELINE_TRY(refuse_child());
  const Engine::Baton baton = parts_.engine->hold();
  return failure_;
}

Status CommunicatorCore::look_for_failure() {
  PACELINE_TRY(refuse_child());
  const Engine::Baton baton = parts_.engine->hold();
  keep_driven();
  parts_.engine->serve();
  return failure_;
}

// Every operation may end at once, for hours, and then nobody waits. The last one's time is as good
// as the clock.
inline void CommunicatorCore::serve_others() {
  const TimePoint now = current_.called_at.value_or(TimePoint::min());
  if (now < serve_at_) [[likely]]
    return;
  serve_at_ = now + kServeEvery;
  keep_driven();
  parts_.engine->serve();
}

// Most are; of the others admit() says what is wrong, if anything is.
inline bool CommunicatorCore::is_plainly_admitted(const OperationRequest& request) const {
  return failure_.ok() && !closed_ && queue_.empty() && is_plainly_valid(request, group().size());
}

Status CommunicatorCore::admit(const OperationRequest& request) const {
  if (!failure_.ok()) return failure_;
  if (closed_) return argument_error("the communicator is closed");
  const Status invalid = is_collective(request.signature.kind)
                             ? validate(request, group().rank, group().size())
                             : pairwise_.validate(request);
  if (!invalid.ok()) return in_call(request.signature.kind, invalid);
  if (queue_.size() >= kMaxQueued) return queue_error(kMaxQueued);
  return {};
}

Status CommunicatorCore::admit_many(std::span<const Tensor> tensors,
                                    const OperationRequest& request) const {
  PACELINE_TRY(admit(request));
  const Status invalid = validate_tensors(tensors, request, group().size());
  if (!invalid.ok()) return in_call(request.signature.kind, invalid);
  return queue_.size() + tensors.size() > kMaxQueued ? queue_error(queue_.size()) : Status();
}

// Begins it, or puts it behind those before it. Null where it has ended: well, or with failure_.
// `borrowed`: the request itself, if it stays where it is to the end; null: it is copied.
CommunicatorCore::Operation* CommunicatorCore::enter(OperationRequest* borrowed,
                                                     const OperationRequest& request) {
  const bool at_once = !running_;
  Operation& operation = at_once ? current_ : queue_.push_back();
  operation.borrowed = borrowed;
  if (borrowed == nullptr) operation.own = request;
  operation.timeout = parts_.timeout;
  operation.in_background = false;
  if (at_once) {
    operation.called_at.reset();
    begin_current();
    if (!running_) {
      if (ends_sends_early_ && parts_.transport->has_work()) keep_driven();
      return nullptr;
    }
    keep_driven();
    return &operation;
  }
  operation.called_at = clock_.now();
  return &operation;
}

CollectiveBackend* CommunicatorCore::backend_for(const Signature& signature) const {
  const Choice& choice = choices_[static_cast<std::size_t>(signature.kind)];
  const bool is_within = choice.most_bytes == SIZE_MAX ||
                         signature.count * size_of(signature.type) <= choice.most_bytes;
  return is_within ? choice.backend : parts_.backends.back().get();
}

// A short operation mostly ends in here. Nothing is noted, nor the clock looked at, before the
// others have what this rank contributes: who crashes over its own input is on record with the
// operation before.
void CommunicatorCore::begin_current() {
  running_ = true;
  OperationRequest& request = current_.request();
  const Signature& signature = request.signature;
  sign(request);
  backend_ = backend_for(signature);
  is_next_settled_ = false;
  if (Staging::is_needed(request)) {
    if (!current_.called_at) current_.called_at = clock_.now();
    staging_.prepare(request, group().size());
  }
  const Status refused = backend_->start(request);
  TimePoint now = clock_.now();
  if (!current_.called_at) current_.called_at = now;
  current_.flight_place = parts_.flight->start(signature, now);
  if (!refused.ok()) return fail(refused, now);
  if (is_collective(signature.kind)) history_.begin(signature, request.next_history);
  const TimePoint begun_at = now;
  const bool ended = backend_->linger(clock_, now);
  if (!early_.empty()) compare_early();
  if (ended) return end_current({}, now);
  watch_.begin(begun_at, *current_.called_at, current_.timeout);
}

// As the next one to begin.
void CommunicatorCore::sign(OperationRequest& request) const {
  request.signature.sequence = history_.begun();
  request.signature.history = history_.digest();
}

bool CommunicatorCore::begin_early() {
  if (!running_ || is_next_settled_ || queue_.empty() || !failure_.ok()) return false;
  OperationRequest& next = queue_.front().request();
  is_next_settled_ =
      !may_overlap(current_.request(), next) || backend_for(next.signature) != backend_;
  if (is_next_settled_) return false;
  sign(next);
  const NextBegin how = backend_->begin_next(next);
  is_next_settled_ = how != NextBegin::kNotYet;
  return how == NextBegin::kBegun;
}

void CommunicatorCore::begin_next() {
  while (!running_ && !queue_.empty()) {
    current_ = std::move(queue_.front());
    queue_.pop_front();
    begin_current();
  }
}

void CommunicatorCore::end_current(const Status& how, TimePoint now) {
  backend_->finish();
  running_ = false;
  if (how.ok()) {
    if (!current_.request().tensors.empty()) staging_.deliver();
    parts_.flight->finish(current_.flight_place, FlightState::kSucceeded, now);
  } else {
    parts_.flight->finish(current_.flight_place, FlightState::kFailed, now, blamed_for(how));
  }
  end(current_, how, now);
}

// Who disagrees is no more to blame than this rank.
int CommunicatorCore::blamed_for(const Status& how) const {
  const int rank = how.culprit().rank;
  if ((how.code() != Code::kPeerLost && how.code() != Code::kTimeout) || rank < 0) return -1;
  const std::vector<int>& known = parts_.membership.flight_ranks;
  return known.empty() ? rank : known[static_cast<std::size_t>(rank)];
}

void CommunicatorCore::end(Operation& operation, const Status& how, TimePoint now) {
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

bool CommunicatorCore::drive(TimePoint now) {
  bool moved = parts_.transport != nullptr && parts_.transport->drive(now);
  moved |= end_flush(moved, now);
  if (running_ && backend_->drive(now)) {
    watch_.moved(now);
    moved = true;
  }
  const bool judged = judge(now);
  moved |= begin_early() || judged;
  if (is_driven_ && is_idle()) {
    parts_.engine->detach(*this);
    is_driven_ = false;
  }
  return moved;
}

void CommunicatorCore::keep_driven() {
  if (!std::exchange(is_driven_, true)) parts_.engine->attach(*this);
}

// Nobody waits for this rank to read what comes: it is read with the next operation.
bool CommunicatorCore::is_idle() const {
  return !running_ && queue_.empty() && !flushing_ && (!listens_ || !failure_.ok()) &&
         heard_.empty() && (!notice_ || !failure_.ok()) &&
         (parts_.transport == nullptr || !parts_.transport->has_work());
}

TimePoint CommunicatorCore::wake_at() const {
  TimePoint wake = parts_.transport != nullptr ? parts_.transport->wake_at() : TimePoint::max();
  if (flushing_) wake = std::min(wake, flush_look_);
  if (running_) wake = std::min({wake, backend_->wake_at(), stands_at_.value_or(watch_.wake_at())});
  return wake;
}

}  // namespace paceline
