#include "launcher/options/hostfile.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using Hosts = std::vector<HostSlots>;

Hosts parsed(const std::string& text) {
  const Result<Hosts> hosts = parse_hostfile(text, "hosts");
  EXPECT_TRUE(hosts.ok()) << text << ": " << hosts.status().to_string();
  return hosts.ok() ? *hosts : Hosts{};
}

std::string refusal(const std::string& text) {
  const Result<Hosts> hosts = parse_hostfile(text, "hosts");
  EXPECT_FALSE(hosts.ok()) << text;
  EXPECT_EQ(hosts.status().code(), Code::kInvalidArgument);
  return hosts.status().text();
}

TEST(Hostfile, EveryForm) {
  EXPECT_EQ(parsed("a\nb slots=4\nc:2\nnode-1.example.org\n10.0.0.7:65536\n"),
            (Hosts{{"a", std::nullopt},
                   {"b", 4},
                   {"c", 2},
                   {"node-1.example.org", std::nullopt},
                   {"10.0.0.7", 65536}}));
}

TEST(Hostfile, CommentsBlanksAndLineEnds) {
  EXPECT_EQ(parsed("# all of them\r\n\r\n  a\tslots=1  # the first\r\n\n \t \nb#c\nd"),
            (Hosts{{"a", 1}, {"b", std::nullopt}, {"d", std::nullopt}}));
}

TEST(Hostfile, SaysWhichLineIsWrong) {
  EXPECT_EQ(refusal("a\n\n# b\nc slots=x\n"),
            "hosts:4: the slots 'x' are not a whole number from 1 to 65536");
  EXPECT_EQ(refusal("a\r\nb max_slots=4\r\n"),
            "hosts:2: 'max_slots=4' is not understood; write name, name:4 or name slots=4");
  EXPECT_EQ(refusal("a:2 slots=2"), "hosts:1: the slots are stated twice");
  for (const char* slots : {"", "0", "-1", "65537", "1.5", "4 4", "99999999999999999999"}) {
    EXPECT_EQ(refusal("a slots=" + std::string(slots)).find("hosts:1: "), 0u) << slots;
    EXPECT_EQ(refusal("a:" + std::string(slots)).find("hosts:1: "), 0u) << slots;
  }
}

TEST(Hostfile, NamesAreNames) {
  for (const char* name : {":4", "-n", "a,b", "node[1-4]", "a/b", "user@a", "=", "\xc3\xa4"})
    EXPECT_NE(refusal(name).find("is not a host's name"), std::string::npos) << name;
  EXPECT_EQ(parsed(std::string(253, 'a')).size(), 1u);
  EXPECT_LT(refusal(std::string(100000, 'a')).size(), 200u) << "a wrong word is shown cut";
  EXPECT_EQ(refusal(std::string("a\0b\x1b", 4)).find("hosts:1: 'a?b?' is not"), 0u);
}

TEST(Hostfile, AtLeastOneHost) {
  for (const char* text : {"", "\n", "# nobody\n", "\r\n\r\n"})
    EXPECT_EQ(refusal(text).find("hosts: names no host"), 0u) << text;
}

TEST(HostList, NamesAndSlots) {
  const Result<Hosts> hosts = parse_host_list("a:4,b,c:1");
  ASSERT_TRUE(hosts.ok());
  EXPECT_EQ(*hosts, (Hosts{{"a", 4}, {"b", std::nullopt}, {"c", 1}}));
  for (const char* text : {"", ",", "a,", "a:,b", "a b", "a:4:4"})
    EXPECT_FALSE(parse_host_list(text).ok()) << text;
}

Status check(const Hosts& hosts, int ranks) {
  const std::vector<std::string> names{"here", "localhost"};
  return check_hosts(hosts, ranks, names);
}

TEST(Hosts, OnlyThisOneSoFar) {
  EXPECT_TRUE(check({}, 100).ok());
  EXPECT_TRUE(check({{"here", 2}, {"localhost", 1}}, 3).ok());
  EXPECT_EQ(check({{"here", 2}, {"there", 9}}, 1).text(),
            "host 'there' is not this one, and a job runs on one host so far; name here or "
            "localhost");
}

TEST(Hosts, SlotsBindWhereTheyAreStated) {
  EXPECT_EQ(check({{"here", 2}, {"here", 1}}, 4).text(),
            "the job has 4 ranks, but its hosts have 3 slots; ask for fewer ranks, or state more "
            "slots");
  EXPECT_TRUE(check({{"here", 2}, {"localhost", std::nullopt}}, 4).ok());
}

}  // namespace
}  // namespace paceline::launcher
