#include "comm/store_wire.h"

#include "comm/base/assert.h"

namespace paceline {

std::vector<StoreFrame> questions_for(std::span<const Awaited> values) {
  std::vector<StoreFrame> questions;
  for (const Awaited& one : values)
    questions.push_back(
        {.kind = StoreFrameKind::kGet, .key = one.key, .value = std::to_string(one.setter)});
  return questions;
}

bool tells_that_none_comes(const StoreFrame& answer) {
  return answer.kind == StoreFrameKind::kEnded || answer.kind == StoreFrameKind::kTaken;
}

void append_frame(const StoreFrame& frame, Bytes& into) {
  PACELINE_ASSERT(frame.key.size() <= kMaxKeyBytes && frame.value.size() <= kMaxValueBytes);
  Bytes body;
  ByteWriter writer(body);
  writer.put(frame.kind);
  writer.put(frame.id);
  writer.put_text(frame.key);
  writer.put_text(frame.value);
  ByteWriter framed(into);
  framed.put(static_cast<std::uint32_t>(body.size()));
  framed.put_bytes(body);
}

Result<std::optional<StoreFrame>> take_frame(ByteView& bytes) {
  ByteReader head(bytes);
  const auto length = head.get<std::uint32_t>();
  if (!head.ok()) return std::optional<StoreFrame>();
  if (length > kMaxStoreFrameBytes) {
    return Status(Code::kUnavailable, Scope::kPeer,
                  "store: a frame of " + std::to_string(length) + " bytes is too long");
  }
  const ByteView body = head.take(length);
  if (!head.ok()) return std::optional<StoreFrame>();
  ByteReader reader(body);
  StoreFrame frame;
  frame.kind = reader.get<StoreFrameKind>();
  frame.id = reader.get<std::uint32_t>();
  frame.key = reader.get_text(kMaxKeyBytes);
  frame.value = reader.get_text(kMaxValueBytes);
  if (!reader.complete() || frame.kind > StoreFrameKind::kTaken) {
    return Status(Code::kUnavailable, Scope::kPeer, "store: a frame cannot be decoded");
  }
  bytes = bytes.subspan(sizeof length + length);
  return std::optional(std::move(frame));
}

}  // namespace paceline
