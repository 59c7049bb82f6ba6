#include "comm/base/long_copy.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::testing {
namespace {

// Every alignment of both sides, and every length up to a few lines: that much and no more.
TEST(StreamCopy, CopiesAllOfItAndNothingElse) {
  constexpr std::size_t kMost = 300;
  std::vector<unsigned char> from(2 * kMost);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7 + 1);
  for (std::size_t to_at = 0; to_at < 64; ++to_at) {
    for (std::size_t bytes = 0; bytes <= kMost; bytes += 1 + to_at % 3) {
      const std::size_t from_at = (to_at * 5 + bytes) % 64;
      std::vector<unsigned char> to(to_at + bytes + 64, 0xEE);
      stream_copy(to.data() + to_at, from.data() + from_at, bytes);
      stream_fence();
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool inside = i >= to_at && i < to_at + bytes;
        ASSERT_EQ(to[i], inside ? from[from_at + i - to_at] : 0xEE) << to_at << " " << bytes;
      }
    }
  }
}

TEST(LongCopy, CopiesAllOfItAndNothingElse) {
  constexpr std::size_t kMost = (std::size_t{256} << 10) + 3;
  std::vector<unsigned char> from(kMost);
  for (std::size_t i = 0; i < kMost; ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 251);
  for (const std::size_t array_bytes : {kMost, kStreamedBytes}) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, kMost / 2, kMost - 3, kMost}) {
      std::vector<unsigned char> to(kMost + 1, 0xEE);
      long_copy(to.data(), from.data(), bytes, array_bytes);
      std::vector<unsigned char> wanted(from.begin(),
                                        from.begin() + static_cast<std::ptrdiff_t>(bytes));
      wanted.resize(to.size(), 0xEE);
      EXPECT_EQ(to, wanted) << bytes << " of " << array_bytes;
    }
  }
}

}  // namespace
}  // namespace paceline::testing
