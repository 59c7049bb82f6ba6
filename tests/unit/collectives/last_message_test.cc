#include "collectives/last_message.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/collectives/communicator_fakes.h"

namespace paceline::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Told = FakeTransport::Told;

class LastMessageTest : public ::testing::Test {
 protected:
  TimePoint now() const { return fake_.engine->clock().now(); }
  std::vector<int> told_peers() {
    std::vector<int> peers;
    for (const Told& told : fake_.transport->take_told()) {
      EXPECT_EQ(told.kind, MessageKind::kNotice);
      peers.push_back(told.peer);
    }
    return peers;
  }

  FakeParts fake_{8};
  LastMessage message_{fake_.parts};
};

// Its neighbours in the binomial graph are 1, 2, 4, 6 and 7.
TEST_F(LastMessageTest, AnErrorGoesToConnectionsFirstAndThenAlongTheGraph) {
  fake_.transport->connections = {3, 4};
  message_.spread(Status(Code::kMismatch, Scope::kGroup, "no", {.rank = 1}));
  EXPECT_EQ(told_peers(), (std::vector<int>{3, 4, 1, 2, 6, 7}));
  message_.answer(5);
  EXPECT_EQ(told_peers(), std::vector<int>{5});
}

TEST_F(LastMessageTest, ARankThatIsLostIsNotConnectedToForIt) {
  message_.spread(Status(Code::kPeerLost, Scope::kGroup, "lost", {.rank = 1}));
  EXPECT_EQ(told_peers(), (std::vector<int>{2, 4, 6, 7}));
}

TEST_F(LastMessageTest, TheEngineIsKeptAwakeUntilItHasLeft) {
  EXPECT_FALSE(message_.begin_flush(now())) << "nothing waits to be sent";
  fake_.transport->is_flushed = false;
  EXPECT_TRUE(message_.begin_flush(now()));
  EXPECT_EQ(fake_.engine->in_background, 1);
  EXPECT_EQ(message_.wake_at(), now() + milliseconds(2));
  EXPECT_FALSE(message_.drive(false, now()));
  fake_.transport->is_flushed = true;
  EXPECT_TRUE(message_.drive(false, now()));
  EXPECT_FALSE(message_.is_flushing());
  EXPECT_EQ(fake_.engine->in_background, 0);
}

TEST_F(LastMessageTest, ItGivesUpAfterTwoSecondsOrTenWhileBytesMove) {
  fake_.transport->is_flushed = false;
  for (const bool moves : {false, true}) {
    const TimePoint begin = now();
    message_.begin_flush(begin);
    while (!message_.drive(moves, now())) fake_.engine->pass(milliseconds(100));
    EXPECT_EQ(now() - begin, moves ? seconds(10) : seconds(2));
  }
}

}  // namespace
}  // namespace paceline::testing
