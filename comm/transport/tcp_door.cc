#include "comm/transport/tcp_door.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <poll.h>

#include "comm/base/random.h"
#include "telemetry/log.h"

namespace paceline {
namespace {

std::string address_of(int fd) {
  const Result<SocketAddress> address = SocketAddress::of_remote_end(fd);
  return address.ok() ? address->to_string() : "a peer that has disconnected";
}

Status denied(std::string_view why) {
  return Status(Code::kDenied, Scope::kPeer, std::string(why));
}

bool has_another(int listener) {
  pollfd polled{.fd = listener, .events = POLLIN};
  return ::poll(&polled, 1, 0) > 0;
}

}  // namespace

TcpDoor::TcpDoor(PollEngine& engine, UniqueFd listener, const JobKey& key, const Options& options)
    : engine_(engine),
      listener_(std::move(listener)),
      key_(key),
      options_(options),
      book_(options.log, options.name),
      watched_(engine.watch(listener_.get(), *this, PollEngine::Interest::kToRead)) {}

TcpDoor::~TcpDoor() { engine_.forget(listener_.get(), *this); }

bool TcpDoor::drive(TimePoint now, Settle settle) {
  bool moved = accept(now, settle);
  const bool somebody_leaves = !callers_.empty() && now >= callers_.front().leaves_at();
  if (std::exchange(stirred_, false) || somebody_leaves) moved |= greet(now, settle);
  return moved;
}

TimePoint TcpDoor::wake_at() const {
  const TimePoint leave = callers_.empty() ? TimePoint::max() : callers_.front().leaves_at();
  return knocking_ ? std::min(leave, std::max(rest_until_, room_at())) : leave;
}

std::size_t TcpDoor::strangers() const {
  return static_cast<std::size_t>(
      std::count_if(callers_.begin(), callers_.end(),
                    [](const Caller& caller) { return caller.arrival != nullptr; }));
}

bool TcpDoor::accept(TimePoint now, Settle settle) {
  bool moved = false;
  for (int i = 0; i < kAcceptsPerDrive && knocking_ && now >= rest_until_; ++i) {
    const bool full = callers_.size() >= kMaxStrangers;
    if (!make_room(now, settle)) break;
    moved |= full;  // somebody has left
    moved |= admit(now);
  }
  return moved;
}

// When the next connection can come in at the latest.
TimePoint TcpDoor::room_at() const {
  const bool full = callers_.size() >= kMaxStrangers;
  return full ? callers_.front().since + kLeastTime : TimePoint::min();
}

// False where nobody waits outside, or nobody can be asked to give way yet.
bool TcpDoor::make_room(TimePoint now, Settle settle) {
  if (now < room_at()) return false;
  if (callers_.size() < kMaxStrangers) return true;
  knocking_ = has_another(listener_.get());
  if (!knocking_) return false;
  // The places of those who have been refused first.
  const auto refused = std::find_if(callers_.begin(), callers_.end(),
                                    [](const Caller& caller) { return caller.arrival == nullptr; });
  if (refused != callers_.end() && now >= refused->leaves_at()) {
    callers_.erase(refused);
    return true;
  }
  Caller& oldest = callers_.front();
  const bool is_in = lets_in(oldest, oldest.arrival->look(), settle);
  if (!is_in && oldest.arrival != nullptr) refuse(oldest, denied(StrangerBook::kGaveWay));
  callers_.erase(callers_.begin());
  return true;
}

bool TcpDoor::admit(TimePoint now) {
  Result<UniqueFd> fd = accept_from(listener_.get());
  if (!fd.ok()) return pause(now, fd.status()), false;
  if (!*fd) return knocking_ = false;
  AcceptorHandshake::Nonce nonce;
  if (const Status status = fill_system_random(nonce); !status.ok()) {
    return pause(now, status), false;
  }
  std::string address = address_of(fd->get());
  callers_.push_back(
      {.address = std::move(address),
       .since = now,
       .arrival = std::make_unique<TcpArrival>(engine_, key_, nonce, *std::move(fd), stirred_)});
  return stirred_ = true;
}

void TcpDoor::pause(TimePoint now, const Status& why) {
  rest_until_ = now + kPause;
  if (std::exchange(paused_, true) || options_.log == nullptr) return;
  options_.log->write(Severity::kWarning, options_.name + ": cannot accept connections: " +
                                              why.text() + "; retries until it succeeds");
}

bool TcpDoor::greet(TimePoint now, Settle settle) {
  bool moved = false;
  std::erase_if(callers_, [&](Caller& caller) {
    const bool was_refused = caller.arrival == nullptr;
    const bool leaves = makes_room(caller, now, settle);
    moved |= leaves || was_refused != (caller.arrival == nullptr);
    return leaves;
  });
  return moved;
}

// True once the caller's place is free.
bool TcpDoor::makes_room(Caller& caller, TimePoint now, Settle settle) {
  const bool late = now >= caller.leaves_at();
  if (caller.arrival == nullptr) return late;
  const GreetingState state = late ? caller.arrival->look() : caller.arrival->drive();
  if (lets_in(caller, state, settle)) return true;
  if (late && caller.arrival != nullptr) refuse(caller, denied(StrangerBook::kTooLate));
  return caller.arrival == nullptr && now >= caller.leaves_at();
}

// True if the caller has proven the key and is the transport's; refuses it where it failed to.
bool TcpDoor::lets_in(Caller& caller, GreetingState state, Settle settle) {
  if (state == GreetingState::kPending) return false;
  const Status status =
      state == GreetingState::kReady ? settle(*caller.arrival) : caller.arrival->error();
  if (!status.ok()) refuse(caller, status);
  return status.ok();
}

// A peer that has found another connection hangs up without a word: that is no refusal.
void TcpDoor::refuse(Caller& caller, const Status& why) {
  const bool left = why.code() == Code::kPeerLost && caller.arrival->said_nothing();
  if (!left) book_.refused(caller.address, why.text());
  caller.arrival.reset();
}

}  // namespace paceline
