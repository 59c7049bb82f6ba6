// Frames: how messages lie in a byte stream. Four bytes of length, the least significant first,
// then that many bytes of payload.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <paceline/status.h>

namespace paceline::launcher {

/// Larger than the arguments and the environment that Linux lets a program have (2 MiB together).
inline constexpr std::size_t kMaxFrameBytes = std::size_t{4} << 20;

/// What stands before each payload.
inline constexpr std::size_t kFrameHeaderBytes = 4;

/// What a header says. Code::kExhausted when that is longer than kMaxFrameBytes.
Result<std::size_t> frame_length(std::string_view header);

/// Code::kExhausted when the payload is longer than kMaxFrameBytes.
Result<std::string> encode_frame(std::string_view payload);

/// Cuts a byte stream into payloads. It holds at most one frame and what one append() brought.
class FrameDecoder {
 public:
  void append(std::string_view bytes);
  /// The next payload, valid until the next call of either member; nullopt while it is not whole.
  /// A length beyond kMaxFrameBytes is an error as soon as it is read; the stream is lost then.
  Result<std::optional<std::string_view>> next();
  /// Whether bytes of an unfinished frame are held.
  bool partial() const { return begin_ < buffer_.size(); }

 private:
  std::string buffer_;
  std::size_t begin_ = 0;
};

}  // namespace paceline::launcher
