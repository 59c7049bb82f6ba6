// Framing of the rendezvous store: pure functions.
//
// A frame is a 32-bit length and that many bytes: u8 kind, u32 id, text key, text value (a text is
// a 32-bit length and its bytes). The server answers each request with a frame of the same id.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

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
  kRefused,  ///< answer to any request: value is the reason
  kEnded,    ///< answer to kGet: that rank has ended and will not set it; value says how it ended
  kTaken,    ///< answer to kSet: the key belongs to another client; value is what that has set.
             ///< Answer to a kGet of that client that must wait: what the second one would set
};

struct StoreFrame {
  StoreFrameKind kind = StoreFrameKind::kSet;
  std::uint32_t id = 0;
  std::string key;
  std::string value;

  bool operator==(const StoreFrame&) const = default;
};

/// A value that one rank of the group sets.
struct Awaited {
  std::string key;
  int setter = 0;
};
/// The requests for them, without ids.
std::vector<StoreFrame> questions_for(std::span<const Awaited> values);
/// True if this answer to a kGet says that the value will never come.
bool tells_that_none_comes(const StoreFrame& answer);

/// Appends the frame to `into`. Key and value are within their limits.
void append_frame(const StoreFrame& frame, Bytes& into);

/// Takes the first whole frame off `bytes`; nothing when it has not all come yet. An error means
/// that the stream cannot be followed any further.
Result<std::optional<StoreFrame>> take_frame(ByteView& bytes);

}  // namespace paceline
