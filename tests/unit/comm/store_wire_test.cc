#include "comm/store_wire.h"

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline {
namespace {

TEST(StoreWire, FramesAreTakenOffOneByOneHoweverTheyAreCut) {
  const StoreFrame first{.kind = StoreFrameKind::kSet, .id = 1, .key = "k", .value = "v"};
  const StoreFrame second{.kind = StoreFrameKind::kValue, .id = 2, .value = std::string(300, 'x')};
  Bytes stream;
  append_frame(first, stream);
  const std::size_t border = stream.size();
  append_frame(second, stream);
  for (std::size_t length = 0; length <= stream.size(); ++length) {
    ByteView bytes = ByteView(stream).first(length);
    std::vector<StoreFrame> taken;
    while (true) {
      auto frame = take_frame(bytes);
      ASSERT_TRUE(frame.ok());
      if (!frame->has_value()) break;
      taken.push_back(**frame);
    }
    ASSERT_EQ(taken.size(), (length >= border ? 1u : 0u) + (length == stream.size() ? 1u : 0u));
    if (!taken.empty()) {
      EXPECT_EQ(taken[0], first);
    }
    if (taken.size() == 2) {
      EXPECT_EQ(taken[1], second);
    }
  }
}

TEST(StoreWire, ALengthBeyondTheLimitIsRefusedAtOnce) {
  Bytes stream;
  ByteWriter(stream).put(std::uint32_t{1} << 30);
  ByteView bytes = stream;
  EXPECT_FALSE(take_frame(bytes).ok());
}

TEST(StoreWire, NoiseNeverDoesHarm) {
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    Bytes stream;
    append_frame({.kind = StoreFrameKind::kSet, .id = 7, .key = "key", .value = "value"}, stream);
    for (int flips = 0; flips < 3; ++flips) {
      stream[random.below(stream.size())] = static_cast<std::byte>(random.next());
    }
    ByteView bytes = stream;
    const auto frame = take_frame(bytes);
    if (frame.ok() && frame->has_value()) {
      EXPECT_LT(bytes.size(), stream.size());
    }
  }
}

}  // namespace
}  // namespace paceline
