// CommunicatorCore, continued: how a rank leaves its group, and what it tells the others before.
#include <algorithm>
#include <string>
#include <utility>

#include "collectives/communicator_core.h"
#include "collectives/failure/binomial_graph.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// How long a notice or a goodbye may take to arrive, and how long while bytes move; afterwards
// peers find out by themselves.
constexpr Duration kFlushPatience = std::chrono::seconds(2);
constexpr Duration kFlushTime = std::chrono::seconds(10);
constexpr Duration kFlushLook = std::chrono::milliseconds(2);

}  // namespace

// All add up what they have sent and not received: nothing of it may be left.
Status CommunicatorCore::close() {
  PACELINE_TRY(refuse_child());
  {
    const Engine::Baton baton = parts_.engine->hold();
    if (closed_) return {};
    open_messages_ = pairwise_.open();
  }
  auto* const sum = reinterpret_cast<std::byte*>(&open_messages_);
  Status status =
      run({.signature = {.count = 1, .kind = OperationKind::kClose, .type = DataType::kUInt64},
           .input = sum,
           .output = sum});
  if (status.ok() && open_messages_ != 0) status = account_of_messages();
  const Engine::Baton baton = parts_.engine->hold();
  closed_ = status.ok();
  return status;
}

// All ranks get it: it says which of them did so.
Status CommunicatorCore::cancelled_here(const std::string& how) const {
  return Status(Code::kCancelled, Scope::kGroup, name_of(group().rank) + " " + how,
                member(group().rank));
}

// Nobody can leave an operation alone: the others wait for what this rank owes them.
void CommunicatorCore::cancel(const Completion& completion) {
  const bool runs = running_ && current_.completion.get() == &completion;
  fail(cancelled_here(runs ? "cancelled the operation" : "cancelled a later operation"),
       clock_.now());
}

void CommunicatorCore::abort() {
  if (is_of_another_process()) return;
  const Engine::Baton baton = parts_.engine->hold();
  fail(cancelled_here("aborted the communicator"), clock_.now());
}

void CommunicatorCore::leave(const char* how, const Status& why) {
  const Engine::Baton baton = parts_.engine->hold();
  if (!failure_.ok()) return;
  part(how);
  latch(why, clock_.now());
}

// If a signal handler interrupts a call and then exits, the communicator is in an undefined state
// and sends nothing. Peers notice the end of the connection.
void CommunicatorCore::leave_at_exit() {
  if (parts_.engine->is_entered_here()) return;
  end_with_process();
}

void CommunicatorCore::end_with_process() { leave("called exit()", exit_error()); }

void CommunicatorCore::stop_at_exit(Deadline deadline) {
  if (parts_.engine->is_entered_here()) return;
  (void)parts_.engine->wait([this] { return !flushing_; }, deadline);
}

// Peers that wait for this rank then know that nothing happened to it.
void CommunicatorCore::part(const char* how) {
  if (!running_) {
    last_word_ = {MessageKind::kGoodbye, own_account()};
  } else {
    const Status leaving(Code::kPeerLost, Scope::kGroup,
                         name_of(group().rank) + " " + how + " in the middle of " +
                             current_.request().signature.to_string(),
                         member(group().rank));
    last_word_ = {MessageKind::kNotice, encode_notice(leaving)};
  }
  if (!closed_) tell_connected(last_word_.kind, last_word_.payload);
}

// Along the connections there are, so that it comes before the end of each, and along the graph on
// which everybody hears of it.
void CommunicatorCore::spread() {
  if (parts_.transport == nullptr) return;
  last_word_ = {MessageKind::kNotice, encode_notice(failure_)};
  tell_connected(last_word_.kind, last_word_.payload);
  // A rank that is absent would only keep this rank from leaving.
  const bool absent = failure_.code() == Code::kPeerLost || failure_.code() == Code::kTimeout;
  for (const int peer : binomial_graph_neighbours(group().rank, group().size())) {
    if (parts_.transport->connected(peer)) continue;
    if (absent && peer == failure_.culprit().rank) continue;
    parts_.transport->tell(peer, last_word_.kind, last_word_.payload);
  }
}

void CommunicatorCore::tell_connected(MessageKind kind, ByteView payload) {
  for (int peer = 0; parts_.transport != nullptr && peer < group().size(); ++peer) {
    if (parts_.transport->connected(peer)) parts_.transport->tell(peer, kind, payload);
  }
}

void CommunicatorCore::keep_awake_to_flush(TimePoint now) {
  if (parts_.transport->flushed()) return;
  flush_until_ = now + kFlushPatience;
  flush_limit_ = now + kFlushTime;
  flush_look_ = now + kFlushLook;
  keep_driven();
  if (!std::exchange(flushing_, true)) parts_.engine->begin_background();
}

bool CommunicatorCore::end_flush(bool moved, TimePoint now) {
  flush_look_ = now + kFlushLook;
  if (moved) flush_until_ = std::min(now + kFlushPatience, flush_limit_);
  if (!flushing_ || (!parts_.transport->flushed() && now < flush_until_)) return false;
  flushing_ = false;
  parts_.engine->end_background();
  return true;
}

}  // namespace paceline
