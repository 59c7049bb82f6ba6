#include "collectives/held_communicator.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "collectives/group_members.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// Adds the running operation, unless the error names one.
Status in_operation(const OperationQueue& queue, const std::string& group_name, Status why) {
  if (!queue.is_running() || !why.culprit().operation.empty()) return why;
  const Signature& signature = queue.current().signature();
  Culprit culprit = why.culprit();
  culprit.operation = operation_of(group_name, signature);
  culprit.sequence = static_cast<std::int64_t>(signature.sequence);
  return why.with_culprit(std::move(culprit));
}

}  // namespace

HeldCommunicator::HeldCommunicator(CommunicatorParts parts)
    : parts_(std::move(parts)),
      clock_(parts_.engine->clock()),
      ends_sends_early_(parts_.transport != nullptr && parts_.transport->ends_sends_early()),
      before_(parts_.transport != nullptr ? parts_.transport->counters() : TransportCounters()),
      queue_(parts_),
      judge_(parts_, queue_),
      last_message_(parts_) {
  const Engine::Baton baton = parts_.engine->hold();
  if (parts_.transport != nullptr) parts_.transport->set_sink(&judge_);
}

HeldCommunicator::~HeldCommunicator() {
  const Engine::Baton baton = parts_.engine->hold();
  last_message_.end_flush();
  if (is_driven_) parts_.engine->detach(*this);
}

// ---- Calls ----

bool HeldCommunicator::run(OperationRequest& request, Completion& completion) {
  if (!failure().ok() || !queue_.accepts_at_once(request)) {
    completion.status = check(request);
    if (!completion.status.ok()) return true;
  }
  QueuedOperation* const operation = enter(&request, request);
  if (operation == nullptr) {
    completion.status = failure();
    return true;
  }
  // Not owned: the caller's frame waits for the end.
  operation->completion = std::shared_ptr<Completion>(std::shared_ptr<void>(), &completion);
  return false;
}

std::shared_ptr<const WorkCompletion> HeldCommunicator::start(const OperationRequest& request) {
  auto completion = std::make_shared<WorkCompletion>();
  if (Status refused = check(request); !refused.ok()) {
    completion->end(std::move(refused));
  } else if (QueuedOperation* const operation = enter(nullptr, request); operation == nullptr) {
    completion->end(failure());
  } else {
    completion->owner = this;
    operation->completion = completion;
    operation->in_background = true;
    parts_.engine->begin_background();
  }
  return completion;
}

// Starts several operations. The handle ends with the last one; an error of one ends all.
std::shared_ptr<const WorkCompletion> HeldCommunicator::start_many(
    std::span<const Tensor> tensors, const OperationRequest& request) {
  auto completion = std::make_shared<WorkCompletion>();
  Status refused = failure().ok() ? queue_.check_many(tensors, request) : failure();
  QueuedOperation* last = nullptr;
  const std::size_t small_bytes = queue_.backend_for(request.signature).small_bytes();
  while (refused.ok() && !tensors.empty()) {
    const std::size_t together =
        tensors_together(tensors, size_of(request.signature.type), small_bytes);
    last = enter(nullptr, request_of(tensors.first(together), request));
    tensors = tensors.subspan(together);
    if (last == nullptr) {
      refused = failure();
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
  return completion;
}

Status HeldCommunicator::check(const OperationRequest& request) const {
  return failure().ok() ? queue_.check(request) : failure();
}

void HeldCommunicator::start_staged(OperationStage& stage) {
  if (!failure().ok()) return stage.end(failure());
  queue_.enter_staged(stage);
  parts_.engine->begin_background();
  keep_driven();
}

// Null if it has ended: well, or with failure().
QueuedOperation* HeldCommunicator::enter(OperationRequest* borrowed,
                                         const OperationRequest& request) {
  const bool must_wait = !queue_.is_empty();
  QueuedOperation& operation = queue_.enter(borrowed, request);
  if (must_wait) return &operation;
  begin();
  if (!queue_.is_running()) {
    if (ends_sends_early_ && parts_.transport->has_work()) keep_driven();
    return nullptr;
  }
  keep_driven();
  return &operation;
}

void HeldCommunicator::begin() {
  if (Status refused = queue_.begin(); !refused.ok()) return fail(std::move(refused));
  judge_.note_begin();
}

void HeldCommunicator::serve() {
  keep_driven();
  parts_.engine->serve();
}

void HeldCommunicator::listen(bool on) {
  listens_ = on;
  if (on) keep_driven();
}

CommunicatorStats HeldCommunicator::stats() const {
  CommunicatorStats stats = queue_.stats();
  if (parts_.transport != nullptr) {
    const TransportCounters now = parts_.transport->counters();
    stats.messages_sent = now.messages_sent - before_.messages_sent;
    stats.bytes_sent = now.bytes_sent - before_.bytes_sent;
  }
  return stats;
}

// ---- Progress ----

bool HeldCommunicator::drive(TimePoint now) {
  bool moved = parts_.transport != nullptr && parts_.transport->drive(now);
  moved |= last_message_.drive(moved, now);
  if (queue_.drive(now)) {
    judge_.note_progress(now);
    moved = true;
  }
  bool judged = judge(now);
  judged |= begin_waiting();
  moved |= queue_.begin_early() || judged;
  if (is_driven_ && is_idle()) {
    parts_.engine->detach(*this);
    is_driven_ = false;
  }
  return moved;
}

// Ends what has ended, and begins what is next. True if anything was.
bool HeldCommunicator::judge(TimePoint now) {
  bool acted = true;
  if (std::optional<Status> why = judge_.verdict(now)) {
    fail(*std::move(why));
  } else if (queue_.has_succeeded()) {
    queue_.end(now);
    begin_waiting();
  } else {
    acted = false;
  }
  if (!failure().ok()) {
    for (const int peer : judge_.take_inquirers()) last_message_.answer(peer);
  }
  return acted;
}

// True if any began.
bool HeldCommunicator::begin_waiting() {
  bool began = false;
  for (; queue_.advance(); began = true) begin();
  return began;
}

void HeldCommunicator::keep_driven() {
  if (!std::exchange(is_driven_, true)) parts_.engine->attach(*this);
}

// Nobody waits for this rank to read what comes: it is read with the next operation.
bool HeldCommunicator::is_idle() const {
  return queue_.is_empty() && !is_flushing() && (!listens_ || !failure().ok()) &&
         judge_.is_quiet() && (parts_.transport == nullptr || !parts_.transport->has_work());
}

TimePoint HeldCommunicator::wake_at() const {
  TimePoint wake = parts_.transport != nullptr ? parts_.transport->wake_at() : TimePoint::max();
  wake = std::min(wake, last_message_.wake_at());
  return queue_.is_running() ? std::min({wake, queue_.wake_at(), judge_.wake_at()}) : wake;
}

// ---- The end of everything ----

// A rank cannot leave an operation alone: the others wait for what it owes them.
void HeldCommunicator::cancel(const Completion& completion) {
  const bool runs = queue_.is_running() && queue_.current().completion.get() == &completion;
  fail(cancelled_here(runs ? "cancelled the operation" : "cancelled a later operation"));
}

// All ranks get it: it says which of them did so.
Status HeldCommunicator::cancelled_here(const std::string& how) const {
  const Group& group = parts_.group;
  return Status(Code::kCancelled, Scope::kGroup, rank_text(group, group.rank) + " " + how,
                culprit_of(group, group.rank));
}

void HeldCommunicator::fail(Status why) {
  if (!failure().ok()) return;
  why = in_operation(queue_, parts_.membership.name, std::move(why));
  last_message_.spread(why);
  end_all(std::move(why));
}

// Peers that wait for this rank then know that nothing happened to it.
void HeldCommunicator::leave(const char* how, const Status& why) {
  if (!failure().ok()) return;
  const Group& group = parts_.group;
  if (!queue_.is_empty()) {
    const std::string when = queue_.is_running()
                                 ? "in the middle of " + operation_of(parts_.membership.name,
                                                                      queue_.current().signature())
                                 : "while an operation waited for its GPU";
    const Status leaving(Code::kPeerLost, Scope::kGroup,
                         rank_text(group, group.rank) + " " + how + " " + when,
                         culprit_of(group, group.rank));
    last_message_.set(MessageKind::kNotice, encode_notice(leaving));
  } else {
    last_message_.set(MessageKind::kGoodbye, encode_account(queue_.account()));
  }
  if (!queue_.is_closed()) last_message_.send();
  end_all(why);
}

void HeldCommunicator::end_all(Status why) {
  judge_.conclude(std::move(why));
  const TimePoint now = clock_.now();
  if (parts_.transport != nullptr) {
    parts_.transport->abort(failure());
    if (last_message_.begin_flush(now)) keep_driven();
  }
  queue_.end_all(failure(), now);
}

}  // namespace paceline
