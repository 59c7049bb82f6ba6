#include "comm/transport/lane.h"

#include <algorithm>
#include <utility>

#include "comm/transport/process_link.h"

namespace paceline {

/// The held bytes of a lane, as a stream.
class Lane::HeldStream final : public ByteStream {
 public:
  explicit HeldStream(const Bytes& held) : rest_(held) {}

  Transfer write(std::span<const ByteView>) override { return {}; }
  Transfer read(std::span<const std::span<std::byte>> parts) override {
    if (rest_.empty()) return {};
    Transfer moved{.state = StreamState::kMoved};
    for (const std::span<std::byte> part : parts) {
      const ByteView taken = rest_.first(std::min(part.size(), rest_.size()));
      std::ranges::copy(taken, part.begin());
      rest_ = rest_.subspan(taken.size());
      moved.bytes += taken.size();
    }
    moved.was_all = rest_.empty();
    return moved;
  }
  const Status& error() const override { return error_; }
  std::size_t rest() const { return rest_.size(); }

 private:
  ByteView rest_;
  Status error_;
};

Lane::Lane(ProcessLink& link, std::uint64_t group, Culprit who)
    : link_(link), group_(group), who_(std::move(who)) {
  link_.add(*this);
}

Lane::~Lane() { link_.remove(*this); }

void Lane::send(const Signature& signature, std::span<const std::byte> payload, Request& request) {
  if (lost()) return request.end(loss_);
  outbox_.push_data(signature, payload, request);
  want();
}

void Lane::receive(std::span<std::byte> buffer, Request& request) {
  inbox_.post(buffer, request);
  drain();
  if (lost()) return;
  want();
  give_credit();
}

void Lane::tell(MessageKind kind, ByteView payload) {
  if (lost()) return;
  outbox_.push_control(kind, payload);
  want();
}

void Lane::abort(const Status& why) {
  inbox_.discard_data(why);
  outbox_.drop_data(why, announced_);
  drain();
  give_credit();  // for the backlog: the sender's notices follow the rest of its data
}

bool Lane::report(int rank, TransportSink* sink) {
  const bool reported = inbox_.report(rank, sink);
  if (reported) drain();
  return reported;
}

void Lane::want() {
  wanted_ = true;
  if (!joined_ || outbox_.piece(announced_, kMaxPieceBytes) > 0) link_.mark(*this);
}

std::optional<FrameHeader> Lane::next_frame() {
  if (lost()) return std::nullopt;
  if (wanted_ && !std::exchange(joined_, true))
    return FrameHeader{.group = group_, .kind = FrameKind::kJoin};
  if (received() >= kCreditBytes) {
    taken_ -= kCreditBytes;
    arrived_ -= kCreditBytes;
    return FrameHeader{.group = group_, .bytes = kCreditBytes, .kind = FrameKind::kCredit};
  }
  const std::size_t bytes = outbox_.piece(announced_, kMaxPieceBytes);
  if (bytes == 0 || bytes > credit_) return std::nullopt;
  credit_ -= bytes;
  announced_ += bytes;
  return FrameHeader{.group = group_, .bytes = static_cast<std::uint32_t>(bytes)};
}

void Lane::sent(std::size_t bytes, std::uint64_t written) {
  outbox_.advance(bytes);
  announced_ -= bytes;
  if (outbox_.empty()) told_at_ = written;
}

bool Lane::accepts(std::size_t bytes) {
  if (arrived_ + bytes > kWindowBytes) return false;
  arrived_ += bytes;
  return true;
}

StreamState Lane::read(ByteStream& stream) {
  const StreamState state = inbox_.read(stream);
  has_more_ = !takes();
  if (inbox_.error().ok() || !stream.error().ok() || lost()) return state;
  lose(inbox_.error());
  link_.leave(group_);
  return StreamState::kMoved;
}

void Lane::took(std::size_t bytes) {
  taken_ += bytes;
  give_credit();
}

void Lane::give_credit() {
  if (received() >= kCreditBytes && !lost()) link_.mark(*this);
}

void Lane::drain() {
  while ((has_more_ || !held_.empty()) && takes()) {
    HeldStream held(held_);
    (void)read(held);
    if (!inbox_.error().ok()) {  // the lane is lost, and has called this function
      held_.clear();
      break;
    }
    const std::size_t taken = held_.size() - held.rest();
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(taken));
    took(taken);
  }
  if (lost() && held_.empty()) inbox_.end_receives(loss_);
}

void Lane::lose(const Status& why) {
  if (lost()) return;
  link_.keep_announced(*this);
  loss_ = Status(Code::kPeerLost, Scope::kGroup, why.text(), who_);
  outbox_.drop_all(loss_);
  drain();
}

}  // namespace paceline
