#include "launcher/registry/cpu_claims.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/topology/host_words.h"

namespace paceline::launcher {
namespace {

using topology::cpus;

namespace fs = std::filesystem;

const std::string kFirstJob = "0000000000000001", kSecondJob = "0000000000000002";

using Claims = std::vector<CpuSet>;

class CpuClaimsTest : public ::testing::Test {
 protected:
  CpuClaimsTest() { fs::create_directories(place_); }
  ~CpuClaimsTest() override { fs::remove_all(place_); }

  JobRegistry::Options options() const {
    return {.places = {place_}, .shared_memory = place_, .user = ::geteuid(), .host = "here"};
  }
  JobHold enter(const std::string& id, const std::string& host = "here") const {
    auto entered = JobRegistry(options()).enter({.id = id,
                                                 .host = host,
                                                 .head = {.pid = ::getpid(), .start_time = 5},
                                                 .ranks = 1,
                                                 .command = "./train"});
    EXPECT_TRUE(entered.ok());
    EXPECT_EQ(entered->warning, "");
    return std::move(entered->hold);
  }
  CpuClaims claims(const std::string& id) const { return CpuClaims(options(), id); }

  const fs::path place_ =
      fs::path(::testing::TempDir()) / ("paceline_cpu_claims_" + std::to_string(::getpid()));
};

TEST_F(CpuClaimsTest, OthersSeeWhatAJobIsBoundToUntilItEnds) {
  JobHold one = enter(kFirstJob), two = enter(kSecondJob);
  claims(kFirstJob).claim(cpus("0-2"));
  EXPECT_EQ(claims(kSecondJob).of_others(), (Claims{cpus("0-2")}));
  EXPECT_EQ(claims(kFirstJob).of_others(), Claims());
  one.leave();
  EXPECT_EQ(claims(kSecondJob).of_others(), Claims());
  two.leave();
  EXPECT_TRUE(fs::is_empty(place_)) << "the last job leaves no trace";
}

TEST_F(CpuClaimsTest, OfOtherHostsAreNotSeen) {
  JobHold one = enter(kFirstJob, "there");
  claims(kFirstJob).claim(cpus("0-2"));
  EXPECT_EQ(claims(kSecondJob).of_others(), Claims());
  one.leave();
}

TEST_F(CpuClaimsTest, OneJobPlansAtATime) {
  JobHold one = enter(kFirstJob), two = enter(kSecondJob);
  CpuClaims first = claims(kFirstJob), also_first = claims(kFirstJob), second = claims(kSecondJob);
  EXPECT_TRUE(first.reserve());
  EXPECT_TRUE(first.reserve());
  EXPECT_TRUE(also_first.reserve()) << "another agent of the same job";
  EXPECT_FALSE(second.reserve());
  first.claim(cpus("0"));
  EXPECT_TRUE(second.reserve());
  EXPECT_EQ(second.of_others(), (Claims{cpus("0")}));
  EXPECT_FALSE(claims(kFirstJob).reserve());
  one.leave();
  two.leave();
}

TEST_F(CpuClaimsTest, AnAgentThatGoesWithoutClaimingLetsOthersPlan) {
  JobHold one = enter(kFirstJob);
  {
    CpuClaims first = claims(kFirstJob);
    EXPECT_TRUE(first.reserve());
  }
  EXPECT_TRUE(claims(kSecondJob).reserve());
  one.leave();
}

TEST_F(CpuClaimsTest, WhereNothingCanBeWrittenNobodyWaits) {
  CpuClaims first = claims(kFirstJob);
  EXPECT_TRUE(first.reserve());
  first.claim(cpus("0"));
  EXPECT_EQ(first.of_others(), Claims());
  EXPECT_TRUE(fs::is_empty(place_));
}

}  // namespace
}  // namespace paceline::launcher
