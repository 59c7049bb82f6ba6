#include "comm/transport/shm_peer.h"

namespace paceline {

void ShmPeer::push(const Signature& signature, std::span<const std::byte> payload,
                   Request& request) {
  if (const std::optional<Loan> loan = loans_->lend(payload, request)) {
    outbox.push_loan(signature, *loan);
  } else {
    outbox.push_data(signature, payload, request);
  }
}

bool ShmPeer::flush() {
  if (lost()) return false;
  stream_.begin_turn();
  const StreamState state = outbox.flush(stream_);
  if (state == StreamState::kBroken) lose(stream_.error());
  // What the peer sent before it left is still to be read, its last word behind it, which must not
  // wait until there is room for the data before it.
  if (state == StreamState::kClosed && inbox.stalled()) inbox.discard_new_data();
  return state == StreamState::kMoved || state == StreamState::kBroken;
}

bool ShmPeer::read() {
  stream_.begin_turn();
  const StreamState state = inbox.read(stream_);
  more_ = inbox.stalled() || inbox.crowded();
  if (state == StreamState::kBroken) lose(inbox.error());
  if (state == StreamState::kClosed) {
    lose(Status(
        Code::kPeerLost, Scope::kGroup,
        has_gone() ? "the process of the rank has ended" : "the rank has closed its connection"));
  }
  return state != StreamState::kIdle;
}

void ShmPeer::lose(const Status& why) {
  loss_ = Status(Code::kPeerLost, Scope::kGroup, why.text(), who_);
  inbox.copy_borrowed();  // it outlives its sender
  inbox.end_receives(loss_);
  outbox.drop_all(loss_);
  loans_->revoke(loss_);
}

void ShmPeer::abort(const Status& why) {
  loans_->revoke(why);
  inbox.discard_data(why);
  outbox.drop_data(why);
}

}  // namespace paceline
