#include "comm/rendezvous.h"

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/comm/served_store.h"

namespace paceline::testing {
namespace {

class RendezvousTest : public ::testing::Test {
 protected:
  // The member that `rank` is, so that a mix-up shows.
  static Member member(int rank) {
    return {.host = "host" + std::to_string(rank),
            .address = rank % 2 == 0 ? "" : "127.0.0.1:" + std::to_string(1000 + rank),
            .pid = 10 + rank};
  }
  Result<Group> meet(RendezvousRequest request, Deadline deadline = patient()) {
    request.self = member(request.rank);
    return rendezvous(*store_.client(), request, deadline);
  }
  static void expect_complete(const Result<Group>& group, const RendezvousRequest& request) {
    ASSERT_TRUE(group.ok()) << group.status().to_string();
    EXPECT_EQ(group->name, request.group);
    EXPECT_EQ(group->epoch, request.epoch);
    EXPECT_EQ(group->rank, request.rank);
    ASSERT_EQ(group->size(), request.size);
    for (int rank = 0; rank < request.size; ++rank) {
      const Member& there = group->members[static_cast<std::size_t>(rank)];
      EXPECT_EQ(there.host, member(rank).host);
      EXPECT_EQ(there.address, member(rank).address);
      EXPECT_EQ(there.pid, member(rank).pid);
    }
  }

  ServedStore store_{StoreSocket::kUnix};
};

TEST_F(RendezvousTest, OneRankMeetsItself) {
  const RendezvousRequest request;
  expect_complete(meet(request), request);
}

TEST_F(RendezvousTest, ARankThatHasFailedMayTryAgain) {
  const RendezvousRequest request{.rank = 0, .size = 2};
  EXPECT_EQ(meet(request, brief()).status().code(), Code::kTimeout);
  std::thread other([&] { expect_complete(meet({.rank = 1, .size = 2}), {.rank = 1, .size = 2}); });
  expect_complete(meet(request), request);
  other.join();
}

TEST_F(RendezvousTest, TwoProcessesOfOneRankAreToldSo) {
  const auto join = [this](int pid) {
    Member self = member(1);
    self.pid = pid;
    return rendezvous(*store_.client(), {.rank = 1, .size = 2, .self = self}, patient()).status();
  };
  Status first;
  std::thread thread([&] { first = join(100); });
  const Status second = join(200);
  thread.join();
  for (const Status& status : {first, second}) {
    EXPECT_EQ(status.code(), Code::kMismatch);
    EXPECT_EQ(status.culprit().rank, 1);
    EXPECT_NE(status.text().find("two processes joined as rank 1: process "), std::string::npos)
        << status.text();
    EXPECT_NE(status.text().find("100 on host host1"), std::string::npos) << status.text();
    EXPECT_NE(status.text().find("200 on host host1"), std::string::npos) << status.text();
  }
}

TEST_F(RendezvousTest, AllComeAndKnowEachOther) {
  for (const int size : {2, 3, 11}) {
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < size; ++rank) {
      ranks.emplace_back([this, rank, size] {
        const RendezvousRequest request{
            .group = "of" + std::to_string(size), .rank = rank, .size = size};
        expect_complete(meet(request), request);
      });
    }
    for (std::thread& rank : ranks) rank.join();
  }
}

TEST_F(RendezvousTest, GroupsAndEpochsDoNotMix) {
  std::vector<std::thread> ranks;
  for (const std::string group : {"world", "split"}) {
    for (const std::uint32_t epoch : {0u, 1u}) {
      for (const int rank : {0, 1}) {
        ranks.emplace_back([this, group, epoch, rank] {
          const RendezvousRequest request{.group = group, .epoch = epoch, .rank = rank, .size = 2};
          expect_complete(meet(request), request);
        });
      }
    }
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST_F(RendezvousTest, TheRankThatDoesNotComeIsNamed) {
  std::vector<std::thread> ranks;
  for (const int rank : {0, 2}) {
    ranks.emplace_back([this, rank] {
      const Status status = meet({.rank = rank, .size = 3}, ample()).status();
      EXPECT_EQ(status.code(), Code::kTimeout);
      EXPECT_EQ(status.culprit().rank, 1) << status.to_string();
      EXPECT_EQ(status.text(), "1 of 3 ranks have not joined the rendezvous: 1");
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST_F(RendezvousTest, ManyMissingRanksAreCountedAndTheFirstNamed) {
  const Status status = meet({.rank = 0, .size = 20}, ample()).status();
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_EQ(status.culprit().rank, 1);
  EXPECT_EQ(status.text(),
            "19 of 20 ranks have not joined the rendezvous: 1, 2, 3, 4, 5, 6, 7, 8, …");
}

TEST_F(RendezvousTest, ARankThatHasEndedIsNamedAtOnce) {
  for (const bool is_late : {false, true}) {
    std::thread other([&] {
      const RendezvousRequest request{.group = is_late ? "late" : "early", .rank = 0, .size = 3};
      const Status status = meet(request).status();
      EXPECT_EQ(status.code(), Code::kPeerLost);
      EXPECT_EQ(status.culprit().rank, 1);
      EXPECT_EQ(status.text(), "rank 1 ended (exit code 0) without joining");
    });
    if (!is_late) store_.rank_ended(1);
    other.join();
  }
}

TEST_F(RendezvousTest, WhereRanksHaveOtherNumbersTheLauncherNamesNone) {
  store_.rank_ended(0);
  const RendezvousRequest request{.rank = 1, .size = 2};
  std::thread other(
      [this] { expect_complete(meet({.rank = 0, .size = 2}), {.rank = 0, .size = 2}); });
  const auto client = store_.client();
  client->ignore_ended_ranks();
  expect_complete(rendezvous(*client, {.rank = 1, .size = 2, .self = member(1)}, patient()),
                  request);
  other.join();
}

TEST_F(RendezvousTest, ARankThatEndedOnceItHadComeIsAMember) {
  const auto client = store_.client();
  EXPECT_EQ(rendezvous(*client, {.rank = 1, .size = 2, .self = member(1)}, ample()).status().code(),
            Code::kTimeout);
  store_.rank_ended(1);
  const RendezvousRequest request{.rank = 0, .size = 2};
  expect_complete(meet(request), request);
}

TEST_F(RendezvousTest, WaitsAreReportedWithThoseWhoHaveNotCome) {
  const auto client = store_.client();
  std::vector<std::vector<int>> reports;
  client->report_waits(std::chrono::milliseconds(20), [&](std::span<const int> missing, Duration) {
    reports.emplace_back(missing.begin(), missing.end());
    if (reports.size() < 3) return;
    const auto other = store_.client();
    for (const char* const key : {"group/world/0/1", "group/world/0/2"})
      (void)other->set(key, "", patient());
  });
  EXPECT_EQ(
      rendezvous(*client, {.rank = 0, .size = 3, .self = member(0)}, patient()).status().code(),
      Code::kUnavailable)
      << "they set something else than members";
  ASSERT_GE(reports.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(reports[i], (std::vector<int>{1, 2}));
}

TEST_F(RendezvousTest, AnEntryThatIsNoMemberIsRefused) {
  const auto other = store_.client();
  ASSERT_TRUE(other->set("group/world/0/1", "what is this?", patient()).ok());
  EXPECT_EQ(meet({.rank = 0, .size = 2}).status().code(), Code::kUnavailable);
}

TEST_F(RendezvousTest, AStoreThatGoesAwayEndsIt) {
  const auto client = store_.client();
  store_.stop();
  const Result<Group> group =
      rendezvous(*client, {.rank = 0, .size = 2, .self = member(0)}, patient());
  EXPECT_EQ(group.status().code(), Code::kPeerLost);
}

}  // namespace
}  // namespace paceline::testing
