#include "comm/base/digest.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace paceline {
namespace {

// The test vectors of the function's authors: it must never change, since it crosses the wire.
TEST(Digest, IsFnv1a) {
  EXPECT_EQ(digest(""), 0xCBF29CE484222325ull);
  EXPECT_EQ(digest("a"), 0xAF63DC4C8601EC8Cull);
  EXPECT_EQ(digest("foobar"), 0x85944171F73967E8ull);
}

TEST(Digest, TakesBytesAbove127AsUnsigned) {
  EXPECT_EQ(digest("\xff"), (0xCBF29CE484222325ull ^ 0xFFull) * 0x100000001B3ull);
}

TEST(Digest, TellsNamesOfGroupsApart) {
  std::set<std::uint64_t> digests;
  for (int i = 0; i < 100'000; ++i) digests.insert(digest("group" + std::to_string(i)));
  EXPECT_EQ(digests.size(), 100'000u);
}

TEST(Digest, IsKnownToTheCompiler) {
  static_assert(digest("world") != digest("World"));
  SUCCEED();
}

}  // namespace
}  // namespace paceline
