#include "launcher/channel/frame.h"

#include <cstdint>

#include "comm/base/try.h"

namespace paceline::launcher {
namespace {

Status too_long(std::size_t bytes) {
  return Status(Code::kExhausted, Scope::kPeer,
                "a message of " + std::to_string(bytes) + " bytes is too long; max " +
                    std::to_string(kMaxFrameBytes) + " bytes");
}

}  // namespace

Result<std::size_t> frame_length(std::string_view header) {
  std::size_t length = 0;
  for (std::size_t i = kFrameHeaderBytes; i > 0; --i)
    length = length << 8 | static_cast<std::uint8_t>(header[i - 1]);
  if (length > kMaxFrameBytes) return too_long(length);
  return length;
}

Result<std::string> encode_frame(std::string_view payload) {
  if (payload.size() > kMaxFrameBytes) return too_long(payload.size());
  std::string frame;
  frame.reserve(kFrameHeaderBytes + payload.size());
  for (std::size_t i = 0; i < kFrameHeaderBytes; ++i)
    frame += static_cast<char>(payload.size() >> (8 * i) & 0xFF);
  frame += payload;
  return frame;
}

void FrameDecoder::append(std::string_view bytes) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  buffer_ += bytes;
}

Result<std::optional<std::string_view>> FrameDecoder::next() {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.size() < kFrameHeaderBytes) return std::optional<std::string_view>();
  PACELINE_TRY_ASSIGN(const std::size_t length, frame_length(rest));
  if (rest.size() - kFrameHeaderBytes < length) return std::optional<std::string_view>();
  begin_ += kFrameHeaderBytes + length;
  return std::optional(rest.substr(kFrameHeaderBytes, length));
}

}  // namespace paceline::launcher
