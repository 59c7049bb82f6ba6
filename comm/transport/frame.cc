#include "comm/transport/frame.h"

#include <bit>
#include <cstring>
#include <string>

#include "comm/base/digest.h"

namespace paceline {
namespace {

static_assert(std::endian::native == std::endian::little, "headers are copied as they lie");

Status refuse(const char* why) {
  return Status(Code::kUnavailable, Scope::kPeer, std::string("malformed frame: ") + why);
}

bool has_bytes(FrameKind kind) { return kind == FrameKind::kPiece || kind == FrameKind::kCredit; }

}  // namespace

std::uint64_t group_id(const Group& group) {
  return digest(group.name + '\n' + std::to_string(group.epoch));
}

FrameHeaderBytes encode_frame(const FrameHeader& header) {
  FrameHeaderBytes bytes{};
  std::memcpy(bytes.data(), &header.group, 8);
  std::memcpy(bytes.data() + 8, &header.bytes, 4);
  bytes[12] = static_cast<std::byte>(header.kind);
  return bytes;
}

Result<FrameHeader> decode_frame(std::span<const std::byte, kFrameHeaderBytes> bytes) {
  FrameHeader header;
  std::memcpy(&header.group, bytes.data(), 8);
  std::memcpy(&header.bytes, bytes.data() + 8, 4);
  if (bytes[12] > static_cast<std::byte>(FrameKind::kLeave)) return refuse("unknown kind");
  header.kind = static_cast<FrameKind>(bytes[12]);
  for (const std::byte zero : bytes.subspan<13>())
    if (zero != std::byte{}) return refuse("bytes that must be zero are not");
  if (has_bytes(header.kind) != (header.bytes > 0)) return refuse("impossible length");
  if (header.kind == FrameKind::kPiece && header.bytes > kMaxPieceBytes)
    return refuse("the piece is longer than the limit");
  return header;
}

}  // namespace paceline
