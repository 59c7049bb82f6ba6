#include "launcher/options/hostfile.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/launcher/parsing.h"

namespace paceline::launcher {
namespace {

using Hosts = std::vector<HostSlots>;

Hosts hosts_of(const std::string& text) { return accepted(parse_hostfile(text, "hosts")); }

std::string hostfile_refusal(const std::string& text) {
  return refusal_of(parse_hostfile(text, "hosts"));
}

TEST(Hostfile, EveryForm) {
  EXPECT_EQ(hosts_of("a\nb slots=4\nc:2\nnode-1.example.org\n10.0.0.7:65536\n"),
            (Hosts{{"a", std::nullopt},
                   {"b", 4},
                   {"c", 2},
                   {"node-1.example.org", std::nullopt},
                   {"10.0.0.7", 65536}}));
}

TEST(Hostfile, CommentsBlanksAndLineEnds) {
  EXPECT_EQ(hosts_of("# all of them\r\n\r\n  a\tslots=1  # the first\r\n\n \t \nb#c\nd"),
            (Hosts{{"a", 1}, {"b", std::nullopt}, {"d", std::nullopt}}));
}

TEST(Hostfile, SaysWhichLineIsWrong) {
  EXPECT_EQ(hostfile_refusal("a\n\n# b\nc slots=x\n"),
            "hosts:4: slots 'x' is not a whole number from 0 to 65536");
  EXPECT_EQ(hostfile_refusal("a\r\nb procs=4\r\n"),
            "hosts:2: 'procs=4' is unknown; write name, name:4 or name slots=4");
  EXPECT_EQ(hostfile_refusal("a slots=4 max_slots=2"),
            "hosts:1: 4 slots are more than max_slots=2");
  EXPECT_EQ(hostfile_refusal("a slots=4 slots=2"), "hosts:1: slots= occurs twice");
  EXPECT_EQ(hostfile_refusal("a:2 slots=2"),
            "hosts:1: slots are stated twice, after ':' and after slots=; remove one");
  for (const char* slots : {"", "00", "-1", "65537", "1.5", "4 4", "99999999999999999999"}) {
    EXPECT_EQ(hostfile_refusal("a slots=" + std::string(slots)).find("hosts:1: "), 0u) << slots;
    EXPECT_EQ(hostfile_refusal("a:" + std::string(slots)).find("hosts:1: "), 0u) << slots;
  }
}

TEST(Hostfile, NamesAreNames) {
  for (const char* name : {":4", "-n", "a,b", "a/b", "=", "\xc3\xa4"})
    EXPECT_NE(hostfile_refusal(name).find("is not a host name"), std::string::npos) << name;
  EXPECT_EQ(hosts_of(std::string(253, 'a')).size(), 1u);
  EXPECT_LT(hostfile_refusal(std::string(100000, 'a')).size(), 200u) << "a wrong word is shown cut";
  EXPECT_EQ(hostfile_refusal(std::string("a\0b\x1b", 4)).find("hosts:1: 'a?b?' is not"), 0u);
}

TEST(Hostfile, RangesAreHostsInTheOrderOfTheirNumbers) {
  EXPECT_EQ(hosts_of("node[9-10,2]:4\nr[1-2]n[01-02] slots=2"), (Hosts{{"node9", 4},
                                                                       {"node10", 4},
                                                                       {"node2", 4},
                                                                       {"r1n01", 2},
                                                                       {"r1n02", 2},
                                                                       {"r2n01", 2},
                                                                       {"r2n02", 2}}));
  for (const char* range : {"n[", "n[]", "n]", "n[2-1]", "n[1-99999999]", "n[a]", "n[1-2]x:y"})
    EXPECT_EQ(hostfile_refusal(range).find("hosts:1: "), 0u) << range;
  std::string many;
  for (int i = 0; i < 100; ++i) many += "n[1-65536]\n";
  EXPECT_NE(hostfile_refusal(many).find("more than 65536 hosts"), std::string::npos);
}

TEST(Hostfile, AddressesStayAsTheyAreWritten) {
  EXPECT_EQ(
      hosts_of("fe80::1%eth0 slots=2\n[::1]:3\n[2001:DB8::7]\n10.0.0.7:2"),
      (Hosts{{"fe80::1%eth0", 2}, {"::1", 3}, {"2001:DB8::7", std::nullopt}, {"10.0.0.7", 2}}));
}

TEST(Hostfile, BlanksAtEqualsSignsAndAByteOrderMark) {
  EXPECT_EQ(hosts_of("\xEF\xBB\xBF"
                     "a slots = 2\nb\tslots= 3 max-slots =4\n"),
            (Hosts{{"a", 2}, {"b", 3}}));
  EXPECT_EQ(hostfile_refusal("a slots =").find("hosts:1: slots '' is not"), 0u);
}

TEST(Hostfile, HostsWithoutSlotsAreLeftOut) {
  EXPECT_EQ(hosts_of("a slots=0\nb slots=1\nc:0"), (Hosts{{"b", 1}}));
  EXPECT_EQ(hostfile_refusal("a slots=0\n"), "hosts: all hosts have 0 slots");
  EXPECT_EQ(accepted(parse_host_list("a:0,b:2")), (Hosts{{"b", 2}}));
  EXPECT_EQ(refusal_of(parse_host_list("a:0")), "all hosts have 0 slots");
}

TEST(Hostfile, WordsThatSshReadsAreSaidToBeThere) {
  for (const char* line : {"a user=me", "a port=2222", "me@a"})
    EXPECT_NE(hostfile_refusal(line).find("~/.ssh/config"), std::string::npos) << line;
  EXPECT_NE(hostfile_refusal("a binding=numa").find("--bind-to"), std::string::npos);
}

TEST(Hostfile, TheMostSlotsAreSlots) {
  EXPECT_EQ(hosts_of("a max_slots=4\nb slots=2 max-slots=4"), (Hosts{{"a", 4}, {"b", 2}}));
}

TEST(Hostfile, AtLeastOneHost) {
  for (const char* text : {"", "\n", "# nobody\n", "\r\n\r\n"})
    EXPECT_EQ(hostfile_refusal(text).find("hosts: has no host"), 0u) << text;
}

TEST(HostList, WithoutExcluded) {
  const Hosts hosts{{"a", 4}, {"b", {}}, {"a", 1}};
  EXPECT_EQ(accepted(without_excluded(hosts, {})), hosts);
  EXPECT_EQ(accepted(without_excluded({}, {})), Hosts{});
  EXPECT_EQ(accepted(without_excluded(hosts, {"a"})), (Hosts{{"b", {}}}));
  EXPECT_EQ(refusal_of(without_excluded(hosts, {"c"})),
            "-H ^c excludes a host that is not among the hosts of the job");
  EXPECT_EQ(refusal_of(without_excluded(hosts, {"a", "b"})), "-H excludes all hosts of the job");
}

TEST(HostList, NamesAndSlots) {
  const Result<Hosts> hosts = parse_host_list("a:4,b,n[1,3]:2,::1");
  ASSERT_TRUE(hosts.ok());
  EXPECT_EQ(*hosts, (Hosts{{"a", 4}, {"b", std::nullopt}, {"n1", 2}, {"n3", 2}, {"::1", {}}}));
  for (const char* text : {"", ",", "a,", "a:,b", "a b", "a:4:4"})
    EXPECT_FALSE(parse_host_list(text).ok()) << text;
}

}  // namespace
}  // namespace paceline::launcher
