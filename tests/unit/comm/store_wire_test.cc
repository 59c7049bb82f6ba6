#include "comm/store_wire.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/random.h"

namespace paceline {
namespace {

const std::vector<StoreFrame> kFrames = {
    {.kind = StoreFrameKind::kSet, .id = 0, .key = "a", .value = "b"},
    {.kind = StoreFrameKind::kGet, .id = 0xFFFFFFFF, .key = "", .value = ""},
    {.kind = StoreFrameKind::kValue, .id = 7, .key = "", .value = std::string("\0\xff", 2)},
    {.kind = StoreFrameKind::kRefused, .id = 1, .key = "", .value = "no"},
    {.kind = StoreFrameKind::kDone, .id = 2, .key = "", .value = ""},
    {.kind = StoreFrameKind::kEnded, .id = 3, .key = "", .value = "exit code 0"},
};

Bytes encoded(const std::vector<StoreFrame>& frames) {
  Bytes bytes;
  for (const StoreFrame& frame : frames) append_frame(frame, bytes);
  return bytes;
}

// Takes what is whole off the front.
std::vector<StoreFrame> take_all(ByteView& bytes) {
  std::vector<StoreFrame> frames;
  while (true) {
    Result<std::optional<StoreFrame>> frame = take_frame(bytes);
    EXPECT_TRUE(frame.ok()) << frame.status().to_string();
    if (!frame.ok() || !frame->has_value()) return frames;
    frames.push_back(**std::move(frame));
  }
}

TEST(StoreFrame, FramesOfAStreamComeBackInOrder) {
  const Bytes bytes = encoded(kFrames);
  ByteView view = bytes;
  EXPECT_EQ(take_all(view), kFrames);
  EXPECT_TRUE(view.empty());
}

TEST(StoreFrame, TheLongestKeyAndValueFit) {
  const StoreFrame frame{.kind = StoreFrameKind::kSet,
                         .id = 1,
                         .key = std::string(kMaxKeyBytes, 'k'),
                         .value = std::string(kMaxValueBytes, 'v')};
  const Bytes bytes = encoded({frame});
  EXPECT_LE(bytes.size(), kMaxStoreFrameBytes + 4);
  ByteView view = bytes;
  EXPECT_EQ(take_all(view), std::vector<StoreFrame>{frame});
}

// The stream is cut at every byte: the first part gives whole frames, the rest gives the others.
TEST(StoreFrame, AStreamMayBeSplitAnywhere) {
  const Bytes bytes = encoded(kFrames);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    ByteView first = ByteView(bytes).first(cut);
    std::vector<StoreFrame> frames = take_all(first);
    Bytes rest(first.begin(), first.end());
    rest.insert(rest.end(), bytes.begin() + static_cast<std::ptrdiff_t>(cut), bytes.end());
    ByteView second = rest;
    for (StoreFrame& frame : take_all(second)) frames.push_back(std::move(frame));
    EXPECT_EQ(frames, kFrames) << "cut at " << cut;
    EXPECT_TRUE(second.empty());
  }
}

Bytes with_length(std::uint32_t length) {
  Bytes bytes;
  ByteWriter(bytes).put(length);
  return bytes;
}

TEST(StoreFrame, ALengthOverTheLimitIsRefusedBeforeItsBytesCome) {
  for (const std::uint32_t length :
       {static_cast<std::uint32_t>(kMaxStoreFrameBytes + 1), std::uint32_t{1} << 30, 0xFFFFFFFFu}) {
    const Bytes bytes = with_length(length);
    ByteView view = bytes;
    EXPECT_FALSE(take_frame(view).ok()) << length;
  }
  const Bytes longest = with_length(kMaxStoreFrameBytes);
  ByteView view = longest;
  EXPECT_FALSE(take_frame(view).value().has_value()) << "it may still come";
  EXPECT_EQ(view.size(), longest.size()) << "nothing is taken before";
}

TEST(StoreFrame, ABodyOfAnotherLengthThanItsFieldsIsRefused) {
  const Bytes valid = encoded({kFrames[0]});
  for (std::uint32_t length = 0; length < valid.size() + 4; ++length) {
    if (length == valid.size() - 4) continue;
    Bytes bytes = with_length(length);
    bytes.insert(bytes.end(), valid.begin() + 4, valid.end());
    bytes.resize(length + 4);
    ByteView view = bytes;
    EXPECT_FALSE(take_frame(view).ok()) << length;
  }
}

TEST(StoreFrame, AnUnknownKindIsRefused) {
  for (const int kind : {7, 100, 255}) {
    Bytes bytes = encoded({kFrames[0]});
    bytes[4] = static_cast<std::byte>(kind);
    ByteView view = bytes;
    EXPECT_FALSE(take_frame(view).ok()) << kind;
  }
}

TEST(StoreFrame, CorruptStreamsAreRefusedOrHarmless) {
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Bytes bytes = encoded(kFrames);
    bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
    ByteView view = bytes;
    for (std::size_t before = view.size() + 1; view.size() < before;) {
      before = view.size();
      const Result<std::optional<StoreFrame>> frame = take_frame(view);
      if (!frame.ok() || !frame->has_value()) break;
      ASSERT_LE((*frame)->key.size(), kMaxKeyBytes);
      ASSERT_LE((*frame)->value.size(), kMaxValueBytes);
    }
  }
}

}  // namespace
}  // namespace paceline
