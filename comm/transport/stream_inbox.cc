#include "comm/transport/stream_inbox.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace paceline {

void StreamInbox::post(std::span<std::byte> buffer, Request& request) {
  const Posted posted{buffer, &request};
  if (!backlog_.empty()) {
    const Waiting message = std::move(backlog_.front());
    backlog_.pop_front();
    backlog_bytes_ -= message.kept_bytes();
    meet(posted, message);
  } else {
    posted_.push_back(posted);
  }
  if (std::exchange(stalled_, false)) place_data();
}

void StreamInbox::meet(const Posted& posted, const Waiting& message) {
  posted.request->signature = message.signature;
  const bool fits = message.bytes() == posted.buffer.size();
  if (message.loan) {
    borrowed_.push_back({.loan = *message.loan,
                         .target = posted.buffer,
                         .request = fits ? posted.request : nullptr});
  }
  if (!fits) return posted.request->end(length_mismatch(posted.buffer.size(), message.bytes()));
  if (message.loan) return;
  std::copy(message.payload.begin(), message.payload.end(), posted.buffer.begin());
  posted.request->end({});
}

// True if anything moved.
bool StreamInbox::copy_some() {
  const Borrowed& oldest = borrowed_.front();
  Status how;
  if (oldest.request != nullptr) {
    const Result<Lender::Progress> copied = lender_->copy_some(oldest.loan, oldest.target);
    if (copied.ok() && *copied != Lender::Progress::kDone)
      return *copied == Lender::Progress::kMoved;
    how = copied.status();
  }
  end_oldest(how);
  return true;
}

void StreamInbox::copy_borrowed() {
  while (borrows()) {
    const Borrowed& oldest = borrowed_.front();
    end_oldest(oldest.request != nullptr ? lender_->copy_rest(oldest.loan, oldest.target)
                                         : Status());
  }
}

void StreamInbox::end_oldest(const Status& how) {
  Request* const request = borrowed_.front().request;
  borrowed_.pop_front();
  lender_->give_back();
  if (request != nullptr) request->end(how);
}

StreamState StreamInbox::read(ByteStream& stream) {
  StreamState state = StreamState::kIdle;
  if (borrows() && copy_some()) state = StreamState::kMoved;
  bool has_all = false;  // that was there
  while (!stalled_ && !crowded()) {
    if (!current_) {
      if (begin_message()) continue;
      if (!error_.ok()) return StreamState::kBroken;
      if (stalled_) break;
    } else {
      take_staged();
      if (target_.empty() && discard_ == 0) {
        finish_message();
        state = StreamState::kMoved;
        continue;
      }
    }
    if (has_all) return state;
    const Transfer filled = fill(stream);
    if (filled.state == StreamState::kIdle) return state;
    if (filled.state != StreamState::kMoved) return filled.state;
    has_all = filled.was_all;
    state = StreamState::kMoved;
  }
  return state;
}

// True once a header has been read and its payload has a place to go.
bool StreamInbox::begin_message() {
  if (staged_end_ - staged_begin_ < kHeaderBytes) return false;
  const auto bytes = ByteView(stage_).subspan(staged_begin_).first<kHeaderBytes>();
  Result<MessageHeader> header = decode_header(bytes);
  if (!header.ok()) {
    error_ = header.status();
    return false;
  }
  if (header->kind == MessageKind::kLoan && lender_ == nullptr) {
    error_ = Status(Code::kUnavailable, Scope::kPeer,
                    "malformed message: its data is in memory that this rank cannot read");
    return false;
  }
  staged_begin_ += kHeaderBytes;
  current_ = *header;
  return place_data();
}

// False when neither a receive nor room in the backlog is there for it: the inbox stalls.
bool StreamInbox::place_data() {
  const std::uint64_t bytes = current_->payload_bytes;
  if (current_->kind == MessageKind::kData && discards_) {
    discard_ = bytes;
    unwanted_ = true;
    return true;
  }
  if (current_->kind == MessageKind::kData && !posted_.empty()) {
    begin_posted();
    return true;
  }
  const bool waits = meets_receive(current_->kind) && posted_.empty() && !discards_;
  if (waits && (early_.empty() || early_.back() != current_->signature)) {
    early_.push_back(current_->signature);
  }
  // A message that is longer than the bound fits nowhere but into its receive.
  const bool fits = bytes <= kBacklogBytes - kHeaderBytes &&
                    backlog_bytes_ <= kBacklogBytes - kHeaderBytes - bytes;
  if (waits && !fits) {
    stalled_ = true;
    return false;
  }
  kept_.resize(bytes);
  target_ = kept_;
  return true;
}

// The message that is being read meets the oldest receive.
void StreamInbox::begin_posted() {
  const Posted posted = posted_.front();
  posted_.pop_front();
  posted.request->signature = current_->signature;
  if (posted.buffer.size() == current_->payload_bytes) {
    receiving_ = posted;
    target_ = posted.buffer;
    return;
  }
  discard_ = current_->payload_bytes;
  unwanted_ = true;
  posted.request->end(length_mismatch(posted.buffer.size(), current_->payload_bytes));
}

// Moves what was read beyond the last message to where the current one wants it.
void StreamInbox::take_staged() {
  const std::size_t staged = staged_end_ - staged_begin_;
  const std::size_t taken = std::min(staged, target_.size());
  if (taken > 0) std::memcpy(target_.data(), stage_.data() + staged_begin_, taken);
  target_ = target_.subspan(taken);
  const std::size_t dropped = std::min<std::uint64_t>(staged - taken, discard_);
  discard_ -= dropped;
  staged_begin_ += taken + dropped;
}

// One read: the current payload's rest first, what follows it into the stage.
Transfer StreamInbox::fill(ByteStream& stream) {
  if (stage_.empty()) stage_.resize(read_ahead_bytes_);
  const std::size_t staged = staged_end_ - staged_begin_;
  if (staged_begin_ > 0 && staged > 0) {
    std::memmove(stage_.data(), stage_.data() + staged_begin_, staged);
  }
  staged_begin_ = 0;
  staged_end_ = staged;
  const std::array<std::span<std::byte>, 2> parts = {target_,
                                                     std::span(stage_).subspan(staged_end_)};
  const Transfer got = stream.read(std::span(parts).subspan(target_.empty() ? 1 : 0));
  if (got.state == StreamState::kBroken) error_ = stream.error();
  if (got.state != StreamState::kMoved) return got;
  const std::size_t direct = std::min(got.bytes, target_.size());
  target_ = target_.subspan(direct);
  staged_end_ += got.bytes - direct;
  return got;
}

void StreamInbox::finish_message() {
  const MessageHeader header = *current_;
  current_.reset();
  if (std::exchange(unwanted_, false)) return;
  if (receiving_) {
    const Posted posted = *receiving_;
    receiving_.reset();
    posted.request->end({});
    return;
  }
  Bytes payload = std::exchange(kept_, {});
  if (!meets_receive(header.kind)) {
    controls_.push_back({.kind = header.kind, .payload = std::move(payload)});
    return;
  }
  Waiting message{.signature = header.signature, .payload = {}};
  if (header.kind == MessageKind::kLoan) {
    message.loan = decode_loan(ByteView(payload).first<sizeof(LoanBytes)>());
    if (discards_) return lender_->give_back();
  } else {
    message.payload = std::move(payload);
  }
  if (!posted_.empty()) {
    const Posted posted = posted_.front();
    posted_.pop_front();
    meet(posted, message);
    return;
  }
  backlog_bytes_ += message.kept_bytes();
  backlog_.push_back(std::move(message));
}

bool StreamInbox::report(int peer, TransportSink* sink) {
  if (controls_.empty() && early_.empty()) return false;
  for (const Control& control : std::exchange(controls_, {})) {
    if (sink != nullptr) sink->told(peer, control.kind, control.payload);
  }
  for (const Signature& signature : early_) {
    if (sink != nullptr) sink->waits(peer, signature);
  }
  early_.clear();
  return true;
}

void StreamInbox::end_receives(const Status& why) {
  if (receiving_) {
    discard_ = target_.size();
    unwanted_ = true;
    target_ = {};
    std::exchange(receiving_, {})->request->end(why);
  }
  for (const Borrowed& borrowed : std::exchange(borrowed_, {})) {
    lender_->give_back();
    if (borrowed.request != nullptr) borrowed.request->end(why);
  }
  for (const Posted& posted : std::exchange(posted_, {})) posted.request->end(why);
}

void StreamInbox::discard_data(const Status& why) {
  end_receives(why);
  for (const Waiting& message : std::exchange(backlog_, {}))
    if (message.loan) lender_->give_back();
  backlog_bytes_ = 0;
  discard_new_data();
}

void StreamInbox::discard_new_data() {
  discards_ = true;
  if (std::exchange(stalled_, false)) place_data();
}

}  // namespace paceline
