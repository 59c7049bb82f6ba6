#include "launcher/options/host_plan.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using Shares = std::vector<HostShare>;

Shares shares(const std::vector<HostSlots>& hosts, int ranks, int most_a_host = 0) {
  const Result<Shares> result = share_ranks(hosts, ranks, most_a_host);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.ok() ? *result : Shares();
}
std::string error(const std::vector<HostSlots>& hosts, int ranks, int most_a_host = 0) {
  return share_ranks(hosts, ranks, most_a_host).status().text();
}

TEST(HostPlan, StatedSlotsAreFilledInOrder) {
  EXPECT_EQ(shares({{"a", 4}, {"b", 2}, {"c", 4}}, 7),
            (Shares{{"a", 4, 4}, {"b", 2, 2}, {"c", 1, 4}}));
  EXPECT_EQ(shares({{"a", 4}, {"b", 2}}, 3), (Shares{{"a", 3, 4}}));
}

TEST(HostPlan, OthersShareWhatIsLeft) {
  EXPECT_EQ(shares({{"a", {}}, {"b", {}}, {"c", {}}}, 7),
            (Shares{{"a", 3, 3}, {"b", 2, 2}, {"c", 2, 2}}));
  EXPECT_EQ(shares({{"a", {}}, {"b", 2}, {"c", {}}}, 5),
            (Shares{{"a", 2, 2}, {"b", 2, 2}, {"c", 1, 1}}));
  EXPECT_EQ(shares({{"a", {}}, {"b", {}}, {"c", {}}}, 1), (Shares{{"a", 1, 1}}));
}

TEST(HostPlan, AHostThatIsNamedTwiceHasTheSlotsOfBoth) {
  EXPECT_EQ(shares({{"a", 1}, {"b", 1}, {"a", 2}}, 4), (Shares{{"a", 3, 3}, {"b", 1, 1}}));
  EXPECT_EQ(shares({{"a", 1}, {"b", 1}, {"a", {}}}, 4), (Shares{{"a", 3, 3}, {"b", 1, 1}}));
  EXPECT_EQ(shares({{"a", kMaxRanks}, {"a", kMaxRanks}}, 2), (Shares{{"a", 2, kMaxRanks}}));
}

TEST(HostPlan, NoHostGetsMoreThanItMay) {
  EXPECT_EQ(shares({{"a", 4}, {"b", 4}}, 4, 2), (Shares{{"a", 2, 2}, {"b", 2, 2}}));
  EXPECT_EQ(shares({{"a", {}}, {"b", 4}}, 3, 2), (Shares{{"a", 1, 1}, {"b", 2, 2}}));
}

TEST(HostPlan, WhatDoesNotFitIsRefusedWithTheNumbers) {
  EXPECT_EQ(error({{"a", 1}}, 2),
            "the job has 2 ranks, but its hosts have 1 slot; ask for fewer ranks, or state more "
            "slots");
  EXPECT_EQ(error({{"a", 4}, {"b", {}}}, 5, 2),
            "the job has 5 ranks, but its hosts have 4 slots with at most 2 each; ask for fewer "
            "ranks, or state more slots");
}

}  // namespace
}  // namespace paceline::launcher
