// Framing of the rendezvous store: pure functions.
//
// A frame is a 32-bit length and that many bytes: u8 kind, u32 id, text key, text value (a text is
// a 32-bit length and its bytes). The server answers each request with a frame of the same id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <paceline/status.h>

#include "comm/bytes.h"

namespace paceline {

inline constexpr std::size_t kMaxKeyBytes = 512;
inline constexpr std::size_t kMaxValueBytes = 64 * 1024;
inline constexpr std::size_t kMaxStoreFrameBytes = kMaxKeyBytes + kMaxValueBytes + 16;

enum class StoreFrameKind : std::uint8_t {
  kSet,      ///< request: key, value
  kGet,      ///< request: key; value is the rank that will set it, in digits, or empty; answered
             ///< when the key exists
  kDone,     ///< answer to kSet
  kValue,    ///< answer to kGet: value
  kRefused,  ///< answer to either: value is the reason
  kEnded,    ///< answer to kGet: that rank has ended and will not set it; value says how it ended
};

struct StoreFrame {
  StoreFrameKind kind = StoreFrameKind::kSet;
  std::uint32_t id = 0;
  std::string key;
  std::string value;

  bool operator==(const StoreFrame&) const = default;
};

/// Appends the frame to `into`. Key and value are within their limits.
void append_frame(const StoreFrame& frame, Bytes& into);

/// Takes the first whole frame off `bytes`; nothing when it has not all come yet. An error means
/// that the stream cannot be followed any further.
Result<std::optional<StoreFrame>> take_frame(ByteView& bytes);

}  // namespace paceline
