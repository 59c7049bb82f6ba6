#include "launcher/channel/frame.h"

#include <cstdint>

namespace paceline::launcher {
namespace {

constexpr std::size_t kHeaderBytes = 4;

Status too_long(std::size_t bytes) {
  return Status(Code::kExhausted, Scope::kPeer,
                "a message of " + std::to_string(bytes) + " bytes is longer than the " +
                    std::to_string(kMaxFrameBytes) + " that a frame may have");
}

std::size_t read_length(std::string_view header) {
  std::size_t length = 0;
  for (std::size_t i = kHeaderBytes; i > 0; --i)
    length = length << 8 | static_cast<std::uint8_t>(header[i - 1]);
  return length;
}

}  // namespace

Result<std::string> encode_frame(std::string_view payload) {
  if (payload.size() > kMaxFrameBytes) return too_long(payload.size());
  std::string frame;
  frame.reserve(kHeaderBytes + payload.size());
  for (std::size_t i = 0; i < kHeaderBytes; ++i)
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
  if (rest.size() < kHeaderBytes) return std::optional<std::string_view>();
  const std::size_t length = read_length(rest);
  if (length > kMaxFrameBytes) return too_long(length);
  if (rest.size() - kHeaderBytes < length) return std::optional<std::string_view>();
  begin_ += kHeaderBytes + length;
  return std::optional(rest.substr(kHeaderBytes, length));
}

}  // namespace paceline::launcher
