#include "launcher/job/restart_policy.h"

#include <chrono>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class RestartPolicyTest : public ::testing::Test {
 protected:
  // A start that fails after `lasts`. Empty: the ranks start again after delay().
  std::string fail_after(RestartPolicy& policy, Duration lasts,
                         const messages::RankExited& exited = {}) {
    policy.began(now_);
    now_ += lasts;
    policy.rank_ended(exited);
    if (const auto refusal = policy.refusal(now_)) return *refusal;
    said_ = policy.announcement(now_);
    now_ += policy.delay();
    return "";
  }

  TimePoint now_{std::chrono::hours(1)};
  std::string said_;
};

TEST_F(RestartPolicyTest, WithoutRestartsTheMessageOfAFailureStaysAsItIs) {
  RestartPolicy policy({});
  EXPECT_EQ(policy.refusal(now_), "");
}

TEST_F(RestartPolicyTest, EachRestartCounts) {
  RestartPolicy policy({.max_restarts = 2, .delay = {}});
  EXPECT_EQ(fail_after(policy, seconds(1)), "");
  EXPECT_EQ(said_, "restart 1 of 2");
  EXPECT_EQ(fail_after(policy, minutes(90)), "");
  EXPECT_EQ(said_, "restart 2 of 2");
  EXPECT_EQ(fail_after(policy, seconds(1)), "; no restart is left of 2");
}

TEST_F(RestartPolicyTest, RestartsBeforeTheWindowDoNotCount) {
  RestartPolicy policy({.max_restarts = 2, .window = minutes(10), .delay = {}});
  EXPECT_EQ(fail_after(policy, seconds(1)), "");
  EXPECT_EQ(fail_after(policy, minutes(9)), "");
  EXPECT_EQ(fail_after(policy, minutes(2)), "");
  EXPECT_EQ(said_, "restart 2 of 2") << "the first one is 11 minutes old";
  EXPECT_EQ(fail_after(policy, minutes(1)), "; no restart is left of 2 in 600 s");
}

TEST_F(RestartPolicyTest, TheDelayDoublesWhileStartsAreShort) {
  RestartPolicy policy({.max_restarts = 100, .delay = seconds(1)});
  for (const int delay_s : {1, 2, 4, 8, 16, 32, 60, 60}) {
    EXPECT_EQ(fail_after(policy, milliseconds(10)), "");
    EXPECT_EQ(policy.delay(), seconds(delay_s));
  }
  EXPECT_EQ(said_, "restart 8 of 100 in 60 s");
  EXPECT_EQ(fail_after(policy, RestartPolicy::kLongStart), "");
  EXPECT_EQ(policy.delay(), seconds(1));
}

TEST_F(RestartPolicyTest, StartsThatEndBeforeTheFirstOperationMakeNoProgress) {
  RestartPolicy policy({.max_restarts = 100, .delay = {}});
  messages::RankExited joining, operating;
  joining.set_joining_ns(1);
  operating.set_joining_ns(1);
  operating.set_first_operation_ns(2);
  EXPECT_EQ(fail_after(policy, seconds(1), joining), "");
  EXPECT_EQ(fail_after(policy, seconds(1), joining), "");
  EXPECT_EQ(fail_after(policy, seconds(1), operating), "");
  EXPECT_EQ(fail_after(policy, seconds(1), joining), "");
  EXPECT_EQ(fail_after(policy, seconds(1), joining), "");
  EXPECT_EQ(fail_after(policy, seconds(1), joining),
            "; no restart: no progress, 3 starts in a row ended before the first operation");
}

TEST_F(RestartPolicyTest, OfProgramsThatDoNotUseTheLibraryProgressIsUnknown) {
  RestartPolicy policy({.max_restarts = 9, .delay = {}});
  for (int i = 0; i < 9; ++i) EXPECT_EQ(fail_after(policy, seconds(1)), "");
}

}  // namespace
}  // namespace paceline::launcher
