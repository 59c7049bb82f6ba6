// What a rank learns of a peer from the connection that it is read from.
#include "comm/transport/tcp_peer.h"

#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/base/unique_fd.h"
#include "comm/poll_engine.h"
#include "comm/transport/socket_stream.h"

namespace paceline::testing {
namespace {

class TcpPeerTest : public ::testing::Test {
 protected:
  TcpPeerTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    theirs_ = UniqueFd(ends[1]);
    peer_.read_from(UniqueFd(ends[0]), std::make_unique<SocketStream>(ends[0]));
  }
  void send(std::size_t bytes) {
    const std::vector<std::byte> some(bytes);
    EXPECT_EQ(::write(theirs_.get(), some.data(), bytes), static_cast<ssize_t>(bytes));
  }
  void serve() {
    engine_->serve();
    peer_.drive(engine_->clock().now());
  }

  const std::shared_ptr<PollEngine> engine_ = PollEngine::create({}).value();
  const Engine::Baton baton_ = engine_->hold();
  TcpPeer peer_{*engine_, {.rank = 3}};
  UniqueFd theirs_;
};

// Both are told at once, and a read that got less than there was room for counts as all there is.
TEST_F(TcpPeerTest, AnEndThatComesWithWhatWasSentLastIsNotMissed) {
  serve();
  send(4);  // of a frame
  theirs_.reset();
  serve();
  serve();
  EXPECT_TRUE(peer_.lost());
  EXPECT_EQ(peer_.loss().code(), Code::kPeerLost);
  EXPECT_EQ(peer_.loss().culprit().rank, 3);
}

TEST_F(TcpPeerTest, AnEndThatComesLaterIsNotMissed) {
  send(4);
  serve();
  EXPECT_FALSE(peer_.lost());
  theirs_.reset();
  serve();
  serve();
  EXPECT_TRUE(peer_.lost());
}

}  // namespace
}  // namespace paceline::testing
