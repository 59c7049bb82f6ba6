#include <thread>

#include <gtest/gtest.h>

#include <paceline/work.h>

#include "comm/completion.h"
#include "comm/poll_engine.h"
#include "tests/unit/comm/patience.h"

namespace paceline::testing {
namespace {

class WorkTest : public ::testing::Test {
 protected:
  void end(Status how = {}) {
    const Engine::Baton baton = engine_->hold();
    completion_->end(std::move(how));
  }

  const std::shared_ptr<PollEngine> engine_ = PollEngine::create({}).value();
  const std::shared_ptr<WorkCompletion> completion_ = std::make_shared<WorkCompletion>();
  const Work work_{engine_, completion_};
};

TEST(Work, OfNothingHasEndedWell) {
  EXPECT_TRUE(Work().test());
  EXPECT_TRUE(Work().wait().ok());
  EXPECT_TRUE(Work().wait_for(std::chrono::seconds(0)).ok());
}

TEST_F(WorkTest, EndsAsItsOperationDoes) {
  EXPECT_FALSE(work_.test());
  end(Status(Code::kPeerLost, Scope::kGroup, "gone"));
  EXPECT_TRUE(work_.test());
  EXPECT_EQ(work_.wait().code(), Code::kPeerLost);
  EXPECT_EQ(work_.wait().text(), "gone") << "as often as it is asked";
}

TEST_F(WorkTest, IsWaitedForByAnyThread) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([copy = work_] { EXPECT_TRUE(copy.wait().ok()); });
  }
  end();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(WorkTest, GivingUpOnAWaitLeavesTheOperationAlone) {
  const Status status = work_.wait_for(std::chrono::milliseconds(1));
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_EQ(status.scope(), Scope::kNone);
  EXPECT_FALSE(work_.test());
  end();
  EXPECT_TRUE(work_.wait_for(std::chrono::nanoseconds(0)).ok());
}

TEST_F(WorkTest, ItsEndIsKnownAfterItsEngineHasOtherThingsToDo) {
  Work copy = work_;
  end();
  EXPECT_TRUE(copy.test());
  copy = Work();
  EXPECT_TRUE(copy.wait().ok());
  EXPECT_TRUE(work_.wait().ok());
}

}  // namespace
}  // namespace paceline::testing
