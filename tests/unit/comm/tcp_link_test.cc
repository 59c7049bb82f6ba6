// A process learns the end of another from the connection that it reads.
#include "comm/transport/tcp_link.h"

#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/base/unique_fd.h"
#include "comm/job_key.h"
#include "comm/poll_engine.h"

namespace paceline::testing {
namespace {

class TcpLinkTest : public ::testing::Test {
 protected:
  TcpLinkTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    theirs_ = UniqueFd(ends[1]);
    link_.accept(UniqueFd(ends[0]), {});
  }
  void send(std::size_t bytes) {
    const std::vector<std::byte> some(bytes);
    EXPECT_EQ(::write(theirs_.get(), some.data(), bytes), static_cast<ssize_t>(bytes));
  }
  void serve() {
    engine_->serve();
    link_.drive(engine_->clock().now());
  }

  const std::shared_ptr<PollEngine> engine_ = PollEngine::create({}).value();
  const Engine::Baton baton_ = engine_->hold();
  const JobKey key_ = JobKey::generate().value();
  TcpLink::Common common_{.engine = *engine_, .key = key_};
  TcpLink link_{common_, {}};
  Lane lane_{link_.groups(), 1, {.rank = 3}};
  UniqueFd theirs_;
};

// Both are told at once, and a read that got less than there was room for counts as all there is.
TEST_F(TcpLinkTest, AnEndThatComesWithWhatWasSentLastIsNotMissed) {
  serve();
  send(4);  // of a frame
  theirs_.reset();
  serve();
  serve();
  EXPECT_TRUE(lane_.lost());
  EXPECT_EQ(lane_.loss().code(), Code::kPeerLost);
  EXPECT_EQ(lane_.loss().culprit().rank, 3);
}

TEST_F(TcpLinkTest, AnEndThatComesLaterIsNotMissed) {
  send(4);
  serve();
  EXPECT_FALSE(lane_.lost());
  theirs_.reset();
  serve();
  serve();
  EXPECT_TRUE(lane_.lost());
}

}  // namespace
}  // namespace paceline::testing
