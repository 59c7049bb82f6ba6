#include "comm/transport/tcp_door.h"

#include <algorithm>
#include <utility>

#include "comm/base/random.h"
#include "telemetry/log.h"

namespace paceline {
namespace {

std::string address_of(int fd) {
  const Result<SocketAddress> address = SocketAddress::of_remote_end(fd);
  return address.ok() ? address->to_string() : "an address that has gone";
}

}  // namespace

TcpDoor::TcpDoor(PollEngine& engine, UniqueFd listener, const JobKey& key, const Options& options)
    : engine_(engine),
      listener_(std::move(listener)),
      key_(key),
      options_(options),
      book_(options.log, options.name),
      watched_(engine.watch(listener_.get(), *this)) {}

TcpDoor::~TcpDoor() { engine_.forget(listener_.get(), *this); }

bool TcpDoor::drive(TimePoint now, Settle settle) {
  bool moved = accept(now);
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

bool TcpDoor::accept(TimePoint now) {
  bool moved = false;
  for (int i = 0; i < kAcceptsPerDrive && knocking_ && now >= rest_until_ && make_room(now); ++i) {
    moved |= admit(now);
  }
  return moved;
}

// When the next connection can come in at the latest.
TimePoint TcpDoor::room_at() const {
  const bool full = callers_.size() >= kMaxStrangers;
  return full ? callers_.front().since + kLeastTime : TimePoint::min();
}

// False while nobody can be asked to give way yet.
bool TcpDoor::make_room(TimePoint now) {
  if (now < room_at()) return false;
  if (callers_.size() < kMaxStrangers) return true;
  // The places of those who have been refused first.
  const auto refused = std::find_if(callers_.begin(), callers_.end(),
                                    [](const Caller& caller) { return caller.arrival == nullptr; });
  const bool is_free = refused != callers_.end() && now >= refused->leaves_at();
  const auto leaver = is_free ? refused : callers_.begin();
  if (!is_free) {
    refuse(*leaver, Status(Code::kDenied, Scope::kPeer,
                           "it proved nothing while others waited at the door"));
  }
  callers_.erase(leaver);
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
  options_.log->write(Severity::kWarning, options_.name +
                                              ": cannot accept connections: " + why.text() +
                                              "; tries again, as often as that happens");
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
  if (caller.arrival == nullptr) return now >= caller.leaves_at();
  switch (caller.arrival->drive()) {
    case GreetingState::kPending:
      if (now >= caller.leaves_at()) {
        refuse(caller,
               Status(Code::kTimeout, Scope::kPeer, "no proof of the job's key came in time"));
      }
      break;
    case GreetingState::kReady: {
      const Status settled = settle(*caller.arrival);
      if (settled.ok()) return true;
      refuse(caller, settled);
      break;
    }
    default:
      refuse(caller, caller.arrival->error());
  }
  return caller.arrival == nullptr && now >= caller.leaves_at();
}

// A peer that has found another connection hangs up without a word: that is no refusal.
void TcpDoor::refuse(Caller& caller, const Status& why) {
  const bool left = why.code() == Code::kPeerLost && caller.arrival->said_nothing();
  if (!left) book_.refused(caller.address, why.text());
  caller.arrival.reset();
}

}  // namespace paceline
