#include "launcher/control/snapshot.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/unit/launcher/small_job.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kExitThree = 3 << 8;  // as waitpid gives it

const JobFacts kFacts{.id = "3f2a000000000000",
                      .command = "./train",
                      .begin = TimePoint(seconds(90)),
                      .begin_since_1970 = seconds(1'700'000'000),
                      .hosts = {"a", "b"}};

TEST(SnapshotTest, BeforeTheAgentsAreConnectedHostsAreNamedAndNoRanks) {
  const v1::Snapshot snapshot = snapshot_of(kFacts, nullptr, TimePoint(seconds(91)));
  EXPECT_EQ(snapshot.phase(), v1::PHASE_STARTING);
  EXPECT_EQ(snapshot.job_id(), "3f2a000000000000");
  EXPECT_EQ(snapshot.command(), "./train");
  EXPECT_EQ(snapshot.start_time_seconds(), 1.7e9);
  EXPECT_EQ(snapshot.elapsed_seconds(), 1);
  ASSERT_EQ(snapshot.hosts_size(), 2);
  EXPECT_EQ(snapshot.hosts(1).name(), "b");
  EXPECT_EQ(snapshot.hosts(1).phase(), v1::Host::PHASE_WAITING);
  EXPECT_EQ(snapshot.ranks_size(), 0);
}

TEST(SnapshotTest, RanksHaveTheirHostAndState) {
  SmallJob job;
  job.started(0, 1, 4711);
  job.pass(milliseconds(1500));
  const v1::Snapshot snapshot = snapshot_of(kFacts, &job.state(), job.now());
  EXPECT_EQ(snapshot.phase(), v1::PHASE_RUNNING);
  EXPECT_EQ(snapshot.hosts(0).phase(), v1::Host::PHASE_STARTING);
  EXPECT_EQ(snapshot.hosts(0).seconds_since_heard(), 1.5);
  EXPECT_EQ(snapshot.hosts(1).phase(), v1::Host::PHASE_WAITING);
  EXPECT_FALSE(snapshot.hosts(1).has_seconds_since_heard());
  ASSERT_EQ(snapshot.ranks_size(), 3);
  EXPECT_EQ(snapshot.ranks(0).state(), v1::Rank::STATE_WAITING);
  EXPECT_EQ(snapshot.ranks(1).state(), v1::Rank::STATE_RUNNING);
  EXPECT_EQ(snapshot.ranks(1).pid(), 4711);
  EXPECT_EQ(snapshot.ranks(1).local_rank(), 1u);
  EXPECT_EQ(snapshot.ranks(2).member().role(), "worker");
  EXPECT_EQ(snapshot.ranks(2).member().index(), 2u);
  EXPECT_EQ(snapshot.ranks(2).host(), "b");
  EXPECT_EQ(snapshot.ranks(2).local_rank(), 0u);
  EXPECT_FALSE(snapshot.has_exit_code());
}

TEST(SnapshotTest, AFailureHasItsCauseCulpritAndExitCode) {
  SmallJob job;
  job.ended(0, 1, kExitThree);
  job.pass(seconds(1));
  for (int timers = 0; timers < 3; ++timers) job.handle(TimePassed{});
  v1::Snapshot snapshot = snapshot_of(kFacts, &job.state(), job.now());
  EXPECT_EQ(snapshot.phase(), v1::PHASE_ENDING);
  EXPECT_EQ(snapshot.cause(), v1::CAUSE_RANK_FAILED);
  EXPECT_EQ(snapshot.culprit().index(), 1u);
  EXPECT_EQ(snapshot.ranks(1).exit_code(), 3);
  EXPECT_NE(snapshot.ranks(1).end().find("code 3"), std::string::npos);
  job.ended(0, 0, SIGTERM);
  job.finished(0);
  job.finished(1);
  snapshot = snapshot_of(kFacts, &job.state(), job.now());
  EXPECT_EQ(snapshot.phase(), v1::PHASE_ENDED);
  EXPECT_EQ(snapshot.exit_code(), 3);
  EXPECT_EQ(snapshot.ranks(0).exit_signal(), SIGTERM);
  EXPECT_FALSE(snapshot.ranks(0).has_exit_code());
}

TEST(SnapshotTest, BytesOfRanksThatAreNotTextDoNotSpoilIt) {
  SmallJob job;
  AgentSaid said{.host = 0, .message = {}};
  said.message.mutable_exited()->set_rank(0);
  said.message.mutable_exited()->set_last_operation("\xff\x1b[2J");
  job.handle(said);
  v1::Snapshot parsed;
  ASSERT_TRUE(
      parsed.ParseFromString(snapshot_of(kFacts, &job.state(), job.now()).SerializeAsString()));
  EXPECT_EQ(parsed.ranks(0).end().find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace paceline::launcher
