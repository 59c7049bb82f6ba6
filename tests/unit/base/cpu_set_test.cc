#include "comm/base/cpu_set.h"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

CpuSet set_of(const std::string& text) { return CpuSet::parse(text).value(); }

TEST(CpuSets, AreWrittenAsTheKernelWritesThem) {
  for (const std::string text :
       {"", "0", "0-3", "0-3,8", "1,3,5", "62-65", "0-63,128-191", "65535"})
    EXPECT_EQ(set_of(text).to_text(), text);
  EXPECT_EQ(set_of("3,1,2,7-7").to_text(), "1-3,7");
  EXPECT_EQ(set_of("0-3,8").cpus(), (std::vector<std::size_t>{0, 1, 2, 3, 8}));
  EXPECT_EQ(set_of("64,70").first(), 64U);
}

TEST(CpuSets, RefuseWhatIsNoList) {
  for (const char* text : {",", "1,", ",1", "1-", "-1", "3-1", "a", "1 ", " 1", "1--2", "65536",
                           "0-99999999999", "1,,2", "0x3"})
    EXPECT_FALSE(CpuSet::parse(text)) << text;
}

TEST(CpuSets, AreSets) {
  CpuSet set = set_of("0-3,100");
  EXPECT_EQ(set.count(), 5);
  EXPECT_TRUE(set.has(100));
  EXPECT_FALSE(set.has(99));
  EXPECT_FALSE(set.has(100000));
  EXPECT_TRUE(set.has_all(set_of("1,100")));
  EXPECT_TRUE(set.has_all({}));
  EXPECT_FALSE(set.has_all(set_of("1,101")));
  EXPECT_TRUE(set.has_any(set_of("90-110")));
  EXPECT_FALSE(set.has_any(set_of("4-99,1000")));
  EXPECT_FALSE(set.has_any({}));
  EXPECT_EQ(set & set_of("3-200"), set_of("3,100"));
  EXPECT_EQ(set & set_of("4-9"), CpuSet());
  set.remove(set_of("100"));
  EXPECT_EQ(set, set_of("0-3"));
  set.add(set_of("2,70"));
  EXPECT_EQ(set, set_of("0-3,70"));
  set.remove(set);
  EXPECT_TRUE(set.is_empty());
  EXPECT_EQ(set, CpuSet());
}

}  // namespace
}  // namespace paceline
