#include "telemetry/job/link_account.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace paceline {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

LinkReading reading(const std::string& from, const std::string& to, std::uint64_t mib, double busy,
                    std::uint64_t resent = 0) {
  return {.from = from,
          .to = to,
          .bytes = mib * kMiB,
          .resent_bytes = resent,
          .busy = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(busy))};
}

LinkSummary link(const std::string& from, const std::string& to, std::uint64_t mib, double busy) {
  return {.from = from, .to = to, .bytes = mib * kMiB, .busy_seconds = busy};
}

TEST(LinkAccount, AddressesBelongToTheHostsThatSendFromThem) {
  LinkAccount account;
  account.begin({"a", "b"});
  account.take(0, {reading("10.0.0.1", "10.0.0.2", 4, 2), reading("10.1.0.1", "10.1.0.2", 6, 3),
                   reading("10.0.0.1", "192.0.2.7", 9, 9), reading("10.0.0.1", "10.1.0.1", 1, 1)});
  EXPECT_TRUE(account.links().empty());
  account.take(1, {reading("10.0.0.2", "10.0.0.1", 1, 0.5, 100), reading("10.1.0.2", "x", 0, 0)});
  const auto links = account.links();
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0], link("a", "b", 10, 3));
  EXPECT_EQ(links[1].from, "b");
  EXPECT_EQ(links[1].resent_bytes, 100u);
  EXPECT_DOUBLE_EQ(links[0].rate(), 10.0 * kMiB / 3);
}

TEST(LinkAccount, AReadingReplacesTheOneBefore) {
  LinkAccount account;
  account.begin({"a", "b"});
  account.take(1, {reading("2", "1", 1, 1)});
  account.take(0, {reading("1", "2", 1, 1)});
  account.take(0, {reading("1", "2", 3, 2)});
  EXPECT_EQ(account.links().front(), link("a", "b", 3, 2));
  account.begin({"a", "b"});
  EXPECT_TRUE(account.links().empty());
}

TEST(SlowLinks, OneThatGivesMuchLessThanOthersIsNamed) {
  const auto slow = find_slow_links({link("a", "b", 25, 4.4), link("b", "c", 26, 1.1),
                                     link("c", "d", 26, 1.2), link("d", "a", 25, 1.0)},
                                    5);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].link, link("a", "b", 25, 4.4));
  EXPECT_NEAR(slow[0].usual, 26 * kMiB / 1.1, 1e6);
  EXPECT_EQ(words_of(slow), "slow link a to b: 48 Mbit/s, others 198 Mbit/s");
  SlowLink lossy = slow[0];
  lossy.link.resent_bytes = kMiB;
  EXPECT_EQ(words_of({lossy, lossy}),
            "slow link a to b: 48 Mbit/s, others 198 Mbit/s, 4 % sent again; 1 more slow link");
  EXPECT_EQ(words_of(std::vector<SlowLink>()), "");
}

TEST(SlowLinks, OneThatOnlyWaitsForAcknowledgementsIsNotNamed) {
  const auto slow = find_slow_links({link("d", "a", 23, 5), link("c", "d", 23, 2.6),
                                     link("a", "b", 23, 0.4), link("b", "c", 23, 0.4)},
                                    5);
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0].link.from, "d");
}

TEST(SlowLinks, HealthyOnesVary) {
  EXPECT_TRUE(find_slow_links({link("a", "b", 80, 3.5), link("b", "c", 80, 4.5),
                               link("c", "d", 80, 3.6), link("d", "a", 80, 3.9)},
                              5)
                  .empty());
}

// c reads late: then the link to it is not slow, and b, which sends to it, may wait.
TEST(SlowLinks, LinksToHostsThatReadLateAreLeftOut) {
  const std::vector<LinkSummary> ring{link("a", "b", 25, 2),   link("b", "c", 25, 4.4),
                                      link("c", "d", 25, 2.2), link("d", "a", 25, 0.9),
                                      link("a", "d", 25, 0.9), link("d", "b", 25, 0.9)};
  ASSERT_FALSE(find_slow_links(ring, 5).empty());
  EXPECT_EQ(find_slow_links(ring, 5)[0].link.to, "c");
  for (const SlowLink& slow : find_slow_links(ring, 5, {"c"})) EXPECT_EQ(slow.link.from, "c");
}

TEST(SlowLinks, LinksThatAreHardlyUsedAreNotJudged) {
  // A rank that is late sends nothing, and its link is not busy.
  EXPECT_TRUE(find_slow_links({link("a", "b", 25, 0.4), link("b", "c", 26, 0.1)}, 5).empty());
}

TEST(SlowLinks, ShortMessagesAreNotComparedWithLongOnes) {
  EXPECT_TRUE(find_slow_links({link("a", "b", 100, 1), link("b", "a", 1, 0.6)}, 5).empty());
  EXPECT_TRUE(find_slow_links({link("a", "b", 100, 2), link("b", "a", 1, 0.001)}, 5).empty());
}

TEST(SlowLinks, ALinkAloneHasNothingToBeComparedWith) {
  EXPECT_TRUE(find_slow_links({link("a", "b", 100, 5)}, 5).empty());
  EXPECT_TRUE(find_slow_links({}, 0).empty());
  EXPECT_TRUE(find_slow_links({link("a", "b", 0, 0), link("b", "a", 0, 0)}, 0).empty());
}

}  // namespace
}  // namespace paceline
