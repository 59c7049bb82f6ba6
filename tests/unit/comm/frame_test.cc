#include "comm/transport/frame.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(Frame, GoesThroughItsBytes) {
  for (const FrameHeader& header :
       {FrameHeader{.group = 1, .bytes = 1}, FrameHeader{.group = ~0ull, .bytes = kMaxPieceBytes},
        FrameHeader{.group = 2, .kind = FrameKind::kJoin},
        FrameHeader{.group = 3, .kind = FrameKind::kLeave},
        FrameHeader{.group = 4, .bytes = 1 << 20, .kind = FrameKind::kCredit}})
    EXPECT_EQ(decode_frame(encode_frame(header)).value(), header);
}

TEST(Frame, WhatIsNotOneIsRefused) {
  for (const FrameHeader& header :
       {FrameHeader{.bytes = 0}, FrameHeader{.bytes = kMaxPieceBytes + 1},
        FrameHeader{.bytes = 1, .kind = FrameKind::kJoin}, FrameHeader{.kind = FrameKind::kCredit},
        FrameHeader{.kind = static_cast<FrameKind>(4)}})
    EXPECT_FALSE(decode_frame(encode_frame(header)).ok());
  FrameHeaderBytes bytes = encode_frame({.bytes = 1});
  bytes.back() = std::byte{1};
  EXPECT_FALSE(decode_frame(bytes).ok());
}

}  // namespace
}  // namespace paceline
