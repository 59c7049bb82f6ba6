// Clients that break the rules end their own connection and disturb nobody else.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/comm/raw_connection.h"
#include "tests/unit/comm/served_store.h"

namespace paceline::testing {
namespace {

class StoreAbuse : public ::testing::TestWithParam<StoreSocket> {
 protected:
  // A connection that has proven the key where one is needed.
  std::unique_ptr<RawConnection> connection() {
    auto connection = std::make_unique<RawConnection>(store_.address());
    EXPECT_TRUE(connection->connected());
    if (GetParam() == StoreSocket::kTcp) {
      EXPECT_EQ(connection->prove(store_.key()), Verdict::kAccepted);
    }
    return connection;
  }
  void expect_the_others_served() {
    const std::string value = std::to_string(++rounds_);
    ASSERT_TRUE(bystander_->set("bystander", value, patient()).ok());
    EXPECT_EQ(get_one(*bystander_, "bystander").value(), value);
  }

  ServedStore store_{GetParam()};
  const std::unique_ptr<StoreClient> bystander_ = store_.client();
  int rounds_ = 0;
};

TEST_P(StoreAbuse, GarbageEndsTheConnection) {
  const std::vector<std::string> garbage = {
      std::string(1000, '\xff'),             // a length of 4 GB
      std::string("\0\0\0\x40", 4) + "abc",  // of 1 GB
      std::string("\5\0\0\0\0\0\0\0\0", 9),  // a body without its texts
      std::string("\0\0\0\0", 4),            // an empty body
      "GET / HTTP/1.1\r\n\r\n",
  };
  for (const std::string& bytes : garbage) {
    const auto raw = connection();
    ASSERT_TRUE(raw->send(as_byte_view(bytes)));
    EXPECT_TRUE(raw->ends()) << ::testing::PrintToString(bytes.substr(0, 20));
    expect_the_others_served();
  }
}

TEST_P(StoreAbuse, AnswersAreNoRequests) {
  for (const auto kind :
       {StoreFrameKind::kDone, StoreFrameKind::kValue, StoreFrameKind::kRefused}) {
    const auto raw = connection();
    ASSERT_TRUE(raw->send({.kind = kind, .id = 1, .key = "k", .value = "v"}));
    EXPECT_TRUE(raw->ends());
    expect_the_others_served();
  }
}

TEST_P(StoreAbuse, HalfAFrameIsWaitedForWithoutKeepingTheOthers) {
  Bytes frame;
  append_frame({.kind = StoreFrameKind::kSet, .id = 9, .key = "slow", .value = "value"}, frame);
  for (std::size_t cut = 1; cut < frame.size(); cut += 5) {
    const auto raw = connection();
    ASSERT_TRUE(raw->send(ByteView(frame).first(cut)));
    expect_the_others_served();
    ASSERT_TRUE(raw->send(ByteView(frame).subspan(cut)));
    const auto answer = raw->receive_frame();
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->kind, StoreFrameKind::kDone);
    EXPECT_EQ(answer->id, 9u);
  }
}

TEST_P(StoreAbuse, AConnectionThatEndsInTheMiddleOfAFrameIsForgotten) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(connection()->send(as_byte_view(std::string("\x40\0\0\0\0", 5))));
  }
  expect_the_others_served();
}

// What waits for a key does not keep its broken connection alive.
TEST_P(StoreAbuse, GarbageEndsTheConnectionAlsoWhileItWaitsForAKey) {
  const auto raw = connection();
  ASSERT_TRUE(raw->send({.kind = StoreFrameKind::kGet, .id = 1, .key = "awaited"}));
  ASSERT_TRUE(raw->send(as_byte_view(std::string(8, '\xff'))));
  EXPECT_TRUE(raw->ends());
  EXPECT_TRUE(bystander_->set("awaited", "", patient()).ok());
}

TEST_P(StoreAbuse, AClientThatLeavesWhileItWaitsIsForgotten) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(connection()->send({.kind = StoreFrameKind::kGet, .id = 1, .key = "awaited"}));
  }
  ASSERT_TRUE(bystander_->set("awaited", "here", patient()).ok());
  EXPECT_EQ(get_one(*bystander_, "awaited").value(), "here");
}

INSTANTIATE_TEST_SUITE_P(Sockets, StoreAbuse,
                         ::testing::Values(StoreSocket::kUnix, StoreSocket::kTcp),
                         [](const auto& instance) { return name(instance.param); });

}  // namespace
}  // namespace paceline::testing
