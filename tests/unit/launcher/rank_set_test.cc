#include "launcher/options/rank_set.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

RankSet ranks_of(const char* text) {
  const Result<RankSet> set = RankSet::parse(text);
  EXPECT_TRUE(set.ok()) << text << ": " << set.status().to_string();
  return set.ok() ? *set : RankSet::none();
}

// "0 4 5" of the ranks below 10.
std::string members(const RankSet& set) {
  std::string text;
  for (int rank = 0; rank < 10; ++rank)
    if (set.contains(rank)) text += (text.empty() ? "" : " ") + std::to_string(rank);
  return text;
}

TEST(RankSet, Words) {
  EXPECT_EQ(ranks_of("all"), RankSet::all());
  EXPECT_EQ(ranks_of("none"), RankSet::none());
  EXPECT_EQ(members(RankSet::all()), "0 1 2 3 4 5 6 7 8 9");
  EXPECT_EQ(members(RankSet::none()), "");
  EXPECT_TRUE(RankSet::all().contains(65535));
  EXPECT_EQ(RankSet::all().highest_named(), -1);
  EXPECT_EQ(RankSet::none().highest_named(), -1);
}

TEST(RankSet, RanksAndRanges) {
  EXPECT_EQ(members(ranks_of("0")), "0");
  EXPECT_EQ(members(ranks_of("0,4-7")), "0 4 5 6 7");
  EXPECT_EQ(members(ranks_of("5-5,2-3,3-4")), "2 3 4 5");
  EXPECT_EQ(ranks_of("7,2-3").highest_named(), 7);
  EXPECT_EQ(ranks_of("1-2147483646").highest_named(), 2147483646);
}

TEST(RankSet, SaysWhichWordIsWrong) {
  for (const char* word : {"x", "-1", "3-1", "1-", "-", "1-2-3", "+1", "1 ", "0x1", "2147483647",
                           "99999999999", "all"}) {
    const Result<RankSet> set = RankSet::parse("0," + std::string(word));
    ASSERT_FALSE(set.ok()) << word;
    EXPECT_EQ(set.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(set.status().text().find("'" + std::string(word) + "' is neither"), 0u) << word;
  }
  for (const char* text : {"", ",", "1,", ",1"}) EXPECT_FALSE(RankSet::parse(text).ok()) << text;
}

}  // namespace
}  // namespace paceline::launcher
