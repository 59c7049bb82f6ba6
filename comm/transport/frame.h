// Frames: a connection between two processes carries them, each for one of the groups that both
// are in. Pure functions from values to bytes and back.
//
//   offset 0  u64 group    8  u32 bytes    12  u8 kind, 3 bytes zero    16  a piece: `bytes` bytes
//
// A group's messages (comm/wire.h) are cut into pieces: a message of n bytes, its header among
// them, into ceil(n / kMaxPieceBytes). So a long message of one group does not hold up the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <paceline/group.h>
#include <paceline/status.h>

#include "comm/wire.h"

namespace paceline {

inline constexpr std::size_t kFrameHeaderBytes = 16;
/// A header and 256 KiB, as long as the messages of pipelined algorithms are by default.
inline constexpr std::size_t kMaxPieceBytes = kHeaderBytes + (std::size_t{256} << 10);

enum class FrameKind : std::uint8_t {
  kPiece,   ///< the next `bytes` bytes of the group's messages follow
  kJoin,    ///< the sender uses this connection for the group from now on
  kCredit,  ///< the receiver may send `bytes` more of the group's messages
  kLeave,   ///< the sender's process is not, or no longer, in the group
};

struct FrameHeader {
  std::uint64_t group = 0;  ///< group_id()
  std::uint32_t bytes = 0;
  FrameKind kind = FrameKind::kPiece;

  bool operator==(const FrameHeader&) const = default;
};

/// Names a group of a job: a digest of its name and epoch.
std::uint64_t group_id(const Group& group);

using FrameHeaderBytes = std::array<std::byte, kFrameHeaderBytes>;
FrameHeaderBytes encode_frame(const FrameHeader& header);
/// Refuses what encode_frame() does not make, and lengths that are out of range.
Result<FrameHeader> decode_frame(std::span<const std::byte, kFrameHeaderBytes> bytes);

}  // namespace paceline
