#include "comm/transport/process_link.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "comm/base/assert.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// A piece with so much missing reads only the next header ahead, because staged bytes are copied
// once more.
constexpr std::size_t kLongRest = std::size_t{32} << 10;
constexpr std::size_t kNextHeaders = kFrameHeaderBytes + kHeaderBytes;

Status broken(const char* why) { return Status(Code::kUnavailable, Scope::kPeer, why); }

}  // namespace

/// The rest of the piece that is being read.
class ProcessLink::Body final : public ByteStream {
 public:
  Body(ProcessLink& link, ByteStream& in) : link_(link), in_(in) {}

  Transfer write(std::span<const ByteView>) override { return {}; }
  Transfer read(std::span<const std::span<std::byte>> parts) override {
    return link_.read_body(in_, parts);
  }
  const Status& error() const override { return in_.error(); }

 private:
  ProcessLink& link_;
  ByteStream& in_;
};

// ---- Lanes ----

void ProcessLink::add(Lane& lane) {
  const bool is_new = lanes_.emplace(lane.group(), &lane).second;
  PACELINE_ASSERT(is_new);
}

void ProcessLink::remove(Lane& lane) {
  if (!lane.lost()) {
    keep_announced(lane);
    if (lane.is_in_use()) leave(lane.group());
  }
  if (lane.set_marked(false)) std::erase(ready_, &lane);
  if (to_ == &lane) to_ = nullptr;
  lanes_.erase(lane.group());
}

void ProcessLink::mark(Lane& lane) {
  if (lane.set_marked(true)) ready_.push_back(&lane);
}

void ProcessLink::keep_announced(Lane& lane) {
  for (Frame& frame : frames_) {
    if (frame.lane != &lane) continue;
    ByteParts parts;
    lane.gather(0, frame.unsent_of_piece(), parts);
    for (const ByteView part : parts.all())
      frame.own.insert(frame.own.end(), part.begin(), part.end());
    lane.sent(frame.unsent_of_piece(), written_);
    frame.lane = nullptr;
  }
}

void ProcessLink::lose(const Status& why) {
  frames_.clear();
  leaving_.clear();
  written_ = 0;
  left_ = 0;
  to_ = nullptr;
  staged_begin_ = staged_end_ = 0;
  error_ = {};
  for (Lane* const lane : std::exchange(ready_, {})) (void)lane->set_marked(false);
  for (const auto& [group, lane] : lanes_) lane->lose(why);
}

// ---- What is written ----

StreamState ProcessLink::flush(ByteStream& out) {
  StreamState state = StreamState::kIdle;
  while (true) {
    announce();
    const ByteParts parts = gather();
    if (parts.empty()) return state;
    const Transfer sent = out.write(parts.all());
    if (sent.state == StreamState::kIdle) return state;
    if (sent.state != StreamState::kMoved) return sent.state;
    advance(sent.bytes);
    state = StreamState::kMoved;
  }
}

void ProcessLink::announce() {
  std::size_t bytes = 0;
  for (const Frame& frame : frames_) bytes += frame.size();
  while (frames_.size() < kMaxFrames && bytes < kEnoughBytes) {
    if (!leaving_.empty()) {
      push({.group = leaving_.front(), .kind = FrameKind::kLeave}, nullptr);
      leaving_.pop_front();
    } else if (!ready_.empty()) {
      Lane* const lane = ready_.front();
      ready_.pop_front();
      (void)lane->set_marked(false);
      const auto frame = lane->next_frame();
      if (!frame) continue;
      push(*frame, lane);
      mark(*lane);
    } else {
      return;
    }
    bytes += frames_.back().size();
  }
}

void ProcessLink::push(const FrameHeader& header, Lane* lane) {
  const bool is_piece = header.kind == FrameKind::kPiece;
  frames_.push_back({.header = encode_frame(header),
                     .bytes = is_piece ? header.bytes : 0,
                     .lane = is_piece ? lane : nullptr});
}

ByteParts ProcessLink::gather() const {
  ByteParts parts;
  for (std::size_t i = 0; i < frames_.size(); ++i) {
    const Frame& frame = frames_[i];
    parts.add(ByteView(frame.header).subspan(std::min(frame.sent, kFrameHeaderBytes)));
    const std::size_t unsent = frame.unsent_of_piece();
    if (frame.lane == nullptr) {
      parts.add(ByteView(frame.own).last(unsent));
      continue;
    }
    std::size_t offset = 0;  // what the frames before it have of its lane
    for (std::size_t j = 0; j < i; ++j)
      if (frames_[j].lane == frame.lane) offset += frames_[j].unsent_of_piece();
    frame.lane->gather(offset, unsent, parts);
  }
  return parts;
}

void ProcessLink::advance(std::size_t bytes) {
  while (bytes > 0) {
    Frame& frame = frames_.front();
    const std::size_t taken = std::min(bytes, frame.size() - frame.sent);
    const std::size_t before = frame.unsent_of_piece();
    frame.sent += taken;
    written_ += taken;
    bytes -= taken;
    if (frame.lane != nullptr) frame.lane->sent(before - frame.unsent_of_piece(), written_);
    if (frame.sent == frame.size()) frames_.pop_front();
  }
}

// ---- What is read ----

StreamState ProcessLink::read(ByteStream& in) {
  StreamState state = StreamState::kIdle;
  has_all_ = false;
  while (error_.ok()) {
    StreamState step = StreamState::kMoved;
    if (left_ > 0) {
      step = read_piece(in);
    } else if (staged() >= kFrameHeaderBytes) {
      error_ = begin_frame();
    } else {
      step = fill_stage(in);
    }
    if (step == StreamState::kIdle) return state;
    if (step != StreamState::kMoved) {
      error_ = in.error();
      return step;
    }
    state = StreamState::kMoved;
  }
  return StreamState::kBroken;
}

Status ProcessLink::begin_frame() {
  PACELINE_TRY_ASSIGN(const FrameHeader header,
                      decode_frame(stage_view().first<kFrameHeaderBytes>()));
  drop_staged(kFrameHeaderBytes);
  const auto found = lanes_.find(header.group);
  Lane* const lane = found == lanes_.end() || found->second->lost() ? nullptr : found->second;
  switch (header.kind) {
    case FrameKind::kJoin:
      if (lane != nullptr) lane->was_joined();
      if (found == lanes_.end()) leave(header.group);
      return leaving_.size() > kMaxLeaving ? broken("the rank joins too many unknown groups")
                                           : Status();
    case FrameKind::kCredit:
      if (lane == nullptr) return {};
      lane->add_credit(header.bytes);
      mark(*lane);
      return {};
    case FrameKind::kLeave:
      if (lane != nullptr) lane->lose(broken("the rank has left the group"));
      return {};
    case FrameKind::kPiece:
      if (lane != nullptr && !lane->accepts(header.bytes))
        return broken("the rank has sent more than it had credit for");
      left_ = header.bytes;
      to_ = lane;
      return {};
  }
  return {};
}

// Moves what there is of the piece to where it belongs.
StreamState ProcessLink::read_piece(ByteStream& in) {
  if (to_ != nullptr && to_->is_ready()) {
    Body body(*this, in);
    Lane& lane = *to_;
    const std::size_t before = left_;
    const StreamState state = lane.read(body);
    lane.took(before - left_);
    if (lane.lost()) to_ = nullptr;
    if (left_ == 0 || left_ < before) return StreamState::kMoved;
    if (state != StreamState::kIdle || lane.is_ready()) return state;
  }
  if (staged() == 0) return fill_stage(in);
  const std::size_t bytes = std::min(left_, staged());
  if (to_ != nullptr) to_->hold(stage_view().first(bytes));
  drop_staged(bytes);
  left_ -= bytes;
  return StreamState::kMoved;
}

StreamState ProcessLink::fill_stage(ByteStream& in) {
  if (has_all_) return StreamState::kIdle;
  make_stage();
  const std::span<std::byte> room = std::span(stage_).subspan(staged_end_);
  const Transfer got = in.read(std::span(&room, 1));
  staged_end_ += got.bytes;
  has_all_ = got.was_all;
  return got.state;
}

// Into `parts`, at most the rest of the piece. What is read behind it is staged.
Transfer ProcessLink::read_body(ByteStream& in, std::span<const std::span<std::byte>> parts) {
  if (left_ == 0) return {};
  std::array<std::span<std::byte>, 3> wanted;
  PACELINE_ASSERT(parts.size() < wanted.size());
  std::size_t count = 0, room = 0;
  for (const std::span<std::byte> part : parts) {
    wanted[count] = part.first(std::min(part.size(), left_ - room));
    room += wanted[count++].size();
  }
  Transfer moved{.state = StreamState::kMoved};
  if (staged() > 0) {
    for (const std::span<std::byte> part : std::span(wanted).first(count)) {
      const std::size_t bytes = std::min(part.size(), staged());
      if (bytes > 0) std::memcpy(part.data(), stage_view().data(), bytes);
      drop_staged(bytes);
      moved.bytes += bytes;
    }
  } else if (has_all_) {
    return {};
  } else {
    make_stage();
    const std::size_t ahead = room < left_ ? 0 : room > kLongRest ? kNextHeaders : kReadAheadBytes;
    wanted[count++] = std::span(stage_).first(ahead);
    moved = in.read(std::span(wanted).first(count));
    has_all_ = moved.was_all;
    staged_end_ = moved.bytes - std::min(moved.bytes, room);
    moved.bytes = std::min(moved.bytes, room);
  }
  left_ -= moved.bytes;
  moved.was_all = left_ == 0 || (has_all_ && staged() == 0);
  return moved;
}

void ProcessLink::make_stage() {
  if (stage_.empty()) stage_.resize(kReadAheadBytes);
  const std::size_t bytes = staged();
  if (staged_begin_ > 0 && bytes > 0)
    std::memmove(stage_.data(), stage_.data() + staged_begin_, bytes);
  staged_begin_ = 0;
  staged_end_ = bytes;
}

void ProcessLink::drop_staged(std::size_t bytes) { staged_begin_ += bytes; }

}  // namespace paceline
