#include "comm/base/host_range.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline {
namespace {

using Words = std::vector<std::string>;

Words expanded(const std::string& text) { return expand_hosts(text).value(); }

TEST(HostRange, ExpandsLists) {
  EXPECT_EQ(expanded("node[01-03,7],gpu1"), (Words{"node01", "node02", "node03", "node7", "gpu1"}));
  EXPECT_EQ(expanded("r[1-2]n[8-9]x"), (Words{"r1n8x", "r1n9x", "r2n8x", "r2n9x"}));
  EXPECT_EQ(expanded("n[098-101]"), (Words{"n098", "n099", "n100", "n101"}));
}

TEST(HostRange, RefusesWhatIsNoList) {
  for (const char* wrong : {"", "a[", "a]", "a[]", "a[3-1]", "a[1-9999999]", "a,,b", "[x]"})
    EXPECT_FALSE(expand_hosts(wrong).ok()) << wrong;
  EXPECT_EQ(expand_hosts("a[3-1]").status().text(),
            "'3-1' is not a list of hosts like node[01-16,20]");
}

TEST(HostRange, NoTextAsksForMuchMemory) {
  const std::string longest(kMostHostNameBytes - 1, 'a');
  EXPECT_EQ(expanded(longest + "[1-2]"), (Words{longest + "1", longest + "2"}));
  EXPECT_FALSE(expand_hosts(longest + "[9-10]").ok());
  EXPECT_FALSE(expand_hosts("n[" + std::string(1 << 20, '0') + "-65535]").ok());
  EXPECT_FALSE(expand_hosts(std::string(1 << 20, 'a') + "[0-65535]").ok());
  std::string many = "a";
  for (int i = 0; i < 1 << 20; ++i) many += "[1]";
  EXPECT_FALSE(expand_hosts(many).ok());
  EXPECT_EQ(expanded("n[0-65535]").size(), kMostHosts);
  EXPECT_FALSE(expand_hosts("n[0-65535],m").ok());
}

TEST(HostRange, NamesThatCountUpAreOnePiece) {
  EXPECT_EQ(host_ranges(Words{}), Words{});
  EXPECT_EQ(host_ranges(Words{"a", "b", "c1"}), (Words{"a", "b", "c1"}));
  EXPECT_EQ(host_ranges(Words{"n1", "n2", "n3", "n5", "m6", "m7"}),
            (Words{"n[1-3]", "n5", "m[6-7]"}));
  EXPECT_EQ(host_ranges(Words{"n08", "n09", "n10"}), Words{"n[08-10]"});
  EXPECT_EQ(host_ranges(Words{"n8", "n9", "n10"}), Words{"n[8-10]"});
  EXPECT_EQ(host_ranges(Words{"n08", "n9"}), (Words{"n08", "n9"})) << "another width";
  EXPECT_EQ(host_ranges(Words{"n2", "n1", "n1"}), (Words{"n2", "n1", "n1"}));
  EXPECT_EQ(host_ranges(Words{"r1n7-ib", "r1n8-ib", "r1n8"}), (Words{"r1n[7-8]-ib", "r1n8"}));
  EXPECT_EQ(host_ranges(Words{"7", "8"}), Words{"[7-8]"});
  EXPECT_EQ(host_ranges(Words{"n9999999999", "n10000000000"}),
            (Words{"n9999999999", "n10000000000"}));
}

TEST(HostRange, PiecesAreTheSameHosts) {
  const Words names = expanded("a,n[1-12],n[08-11]x,7,8,fe80::1,fe80::2,n99,n100,n0,n1");
  std::string joined;
  for (const std::string& piece : host_ranges(names))
    joined.append(joined.empty() ? "" : ",").append(piece);
  EXPECT_EQ(joined, "a,n[1-12],n[08-11]x,[7-8],fe80::[1-2],n[99-100],n[0-1]");
  EXPECT_EQ(expanded(joined), names);
}

}  // namespace
}  // namespace paceline
