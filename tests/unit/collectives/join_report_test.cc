#include "collectives/join_report.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "tests/harness/collecting_log.h"

namespace paceline {
namespace {

using testing::CollectingLog;

class JoinReportTest : public ::testing::Test {
 protected:
  // The number of lines that one rank of 12 writes about these missing ranks.
  std::size_t lines_of(int rank, const std::vector<int>& missing) {
    const std::size_t before = log_->lines().size();
    const JoinReport report({.rank = rank, .size = 12, .part = "", .every = {}, .log = log_});
    report.say(missing, std::chrono::seconds(30));
    return log_->lines().size() - before;
  }

  const std::shared_ptr<CollectingLog> log_ = std::make_shared<CollectingLog>();
};

TEST_F(JoinReportTest, TheFirstOfThoseWhoHaveComeNamesTheOthers) {
  EXPECT_EQ(lines_of(0, {1}), 1u);
  EXPECT_EQ(log_->lines().back().severity, Severity::kWarning);
  EXPECT_EQ(log_->lines().back().text,
            "rank 0 of 12 has waited 30 s for ranks that have not joined: rank 1");
  EXPECT_EQ(lines_of(2, {1}), 0u) << "rank 0 says it";
  EXPECT_EQ(lines_of(2, {0, 1, 7}), 1u);
  EXPECT_EQ(lines_of(3, {0, 1, 7}), 0u);
  EXPECT_EQ(lines_of(0, {}), 0u);
}

TEST_F(JoinReportTest, EveryRankNamesRank0WhereThatIsAbsent) {
  const UniqueFd taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in loopback{.sin_family = AF_INET,
                             .sin_port = 0,
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                             .sin_zero = {}};
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback), 0);
  const SocketAddress nobody = SocketAddress::of_local_end(taken.get()).value();
  const auto engine = PollEngine::create({}).value();
  const JobKey key = JobKey::generate().value();
  const JoinReport report(
      {.rank = 2, .size = 4, .part = "", .every = std::chrono::milliseconds(50), .log = log_});
  const Deadline deadline = Deadline::after(engine->clock(), std::chrono::milliseconds(200));
  EXPECT_FALSE(report.connect_to_rank_0(engine, nobody, &key, deadline).ok());
  ASSERT_FALSE(log_->lines().empty());
  const std::string text = log_->lines().front().text;
  EXPECT_TRUE(text.starts_with("rank 2 of 4 has waited ")) << text;
  EXPECT_TRUE(text.ends_with(" for ranks that have not joined: rank 0")) << text;
}

TEST_F(JoinReportTest, ManyAreNotAllNamed) {
  EXPECT_EQ(lines_of(0, {1, 2, 3, 4, 5, 6, 7, 8, 9}), 1u);
  EXPECT_EQ(log_->lines().back().text,
            "rank 0 of 12 has waited 30 s for ranks that have not joined: ranks 1, 2, 3, 4, 5, 6, "
            "7, 8, …");
}

TEST_F(JoinReportTest, APartOfTheWorldIsNamed) {
  const JoinReport report(
      {.rank = 0, .size = 2, .part = "split #3, color 1", .every = {}, .log = log_});
  const int missing[] = {1};
  report.say(missing, std::chrono::seconds(1));
  EXPECT_EQ(
      log_->lines().back().text,
      "rank 0 of 2 has waited 1 s in split #3, color 1 for ranks that have not joined: rank 1");
}

}  // namespace
}  // namespace paceline
