#include "launcher/tools/measure/probe/loop/shared_meeting.h"

#include <atomic>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/unit/probe/shared_ranks.h"

namespace paceline::probe {
namespace {

using Values = std::vector<std::int64_t>;

// `cpus` decides how ranks wait: 1 is fewer than the ranks of every test here.
class Meetings : public ::testing::TestWithParam<int> {
 protected:
  std::unique_ptr<SharedMeeting> open(int rank, int ranks) {
    auto meeting = SharedMeeting::open(file_.path(),
                                       {.rank = rank, .ranks = ranks, .cpus = GetParam()}, clock_);
    EXPECT_TRUE(meeting.ok()) << meeting.status().to_string();
    return *std::move(meeting);
  }

  const SystemClock clock_;
  const NamelessFile file_;
};

TEST_P(Meetings, NobodyLeavesBeforeAllHaveCome) {
  constexpr int kRanks = 3, kRounds = 500;
  std::atomic<int> come{0};
  run_ranks(kRanks, [&](int rank) {
    const auto meeting = open(rank, kRanks);
    for (int round = 1; round <= kRounds; ++round) {
      ++come;
      ASSERT_TRUE(meeting->meet().ok());
      ASSERT_GE(come.load(), round * kRanks);
    }
  });
  EXPECT_EQ(come.load(), kRanks * kRounds);
}

TEST_P(Meetings, WhoSleepsIsWokenByWhoeverComesLast) {
  constexpr int kRanks = 3, kRounds = 300;
  std::atomic<int> come{0};
  run_ranks(kRanks, [&](int rank) {
    const auto meeting = open(rank, kRanks);
    for (int round = 1; round <= kRounds; ++round) {
      ++come;
      const bool sleeps = (rank + round) % kRanks != 0;
      ASSERT_TRUE((sleeps ? meeting->meet_asleep() : meeting->meet()).ok());
      ASSERT_GE(come.load(), round * kRanks);
    }
  });
  EXPECT_EQ(come.load(), kRanks * kRounds);
}

TEST_P(Meetings, ValuesComeRankAfterRank) {
  constexpr int kRanks = 4;
  run_ranks(kRanks, [&](int rank) {
    const auto meeting = open(rank, kRanks);
    for (std::int64_t round = 0; round < 50; ++round) {
      const Result<Values> all = meeting->share(Values{rank, round});
      ASSERT_TRUE(all.ok());
      ASSERT_EQ(*all, (Values{0, round, 1, round, 2, round, 3, round}));
    }
  });
}

TEST_P(Meetings, AsManyValuesAsFit) {
  run_ranks(2, [&](int rank) {
    const auto meeting = open(rank, 2);
    const Result<Values> all = meeting->share(Values(Meeting::kMaxShared, rank));
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(all->size(), 2 * Meeting::kMaxShared);
    EXPECT_EQ(std::accumulate(all->begin(), all->end(), std::int64_t{0}), Meeting::kMaxShared);
  });
}

TEST_P(Meetings, OfOneRank) {
  const auto meeting = open(0, 1);
  EXPECT_TRUE(meeting->meet().ok());
  EXPECT_EQ(*meeting->share(Values{5}), Values{5});
  EXPECT_TRUE(meeting->has_one_clock());
}

INSTANTIATE_TEST_SUITE_P(Cpus, Meetings, ::testing::Values(1, 8));

TEST(SharedMeeting, SaysWhatItCannotOpen) {
  const SystemClock clock;
  const auto meeting = SharedMeeting::open("/nowhere/at/all", {.rank = 0, .ranks = 2}, clock);
  ASSERT_FALSE(meeting.ok());
  EXPECT_NE(meeting.status().text().find("'/nowhere/at/all': No such file"), std::string::npos);
}

}  // namespace
}  // namespace paceline::probe
