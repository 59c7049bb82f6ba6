// What a link makes of the ends of its two connections.
#include "comm/transport/tcp_link.h"

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "comm/base/unique_fd.h"
#include "comm/job_key.h"
#include "comm/listener.h"
#include "comm/poll_engine.h"
#include "comm/socket.h"
#include "tests/unit/comm/patience.h"

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

// The other process as its peer sees it: both of its connections, by hand.
class WelcomedPeerTest : public ::testing::Test, private RequestListener {
 protected:
  WelcomedPeerTest() {
    const SocketAddress loopback = SocketAddress::parse("127.0.0.1:0").value();
    UniqueFd listening = listen_on(loopback, {}).value();
    link_.set_address(SocketAddress::of_local_end(listening.get())->to_string());
    listener_ = Listener::create(std::move(listening), &key_,
                                 {.name = "the peer", .log = nullptr, .max_unauthenticated = 4},
                                 [this](AuthenticatedConnection& connection) -> Status {
                                   PACELINE_TRY_ASSIGN(theirs_, connection.welcome());
                                   return {};
                                 })
                    .value();
    lane_.receive({}, request_);  // so the link dials
    link_.reach();
    EXPECT_TRUE(comes_true([this] {
      listener_->drive(engine_->clock().now());
      serve();
      return theirs_ && link_.connected();
    }));
  }
  void serve() {
    engine_->serve();
    link_.drive(engine_->clock().now());
  }
  void send_message(int fd) {
    const auto message = encode_header({.signature = {}, .payload_bytes = 0});
    const auto frame = encode_frame({.group = 1, .bytes = kHeaderBytes});
    EXPECT_EQ(::write(fd, frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
    EXPECT_EQ(::write(fd, message.data(), message.size()), static_cast<ssize_t>(message.size()));
  }
  void ended(Request& request) override { end_ = request.status; }

  const std::shared_ptr<PollEngine> engine_ = PollEngine::create({}).value();
  const Engine::Baton baton_ = engine_->hold();
  const JobKey key_ = JobKey::generate().value();
  TcpLink::Common common_{.engine = *engine_, .key = key_};
  TcpLink link_{common_, {.purpose = Purpose::kData, .from = 0, .to = 3}};
  Request request_{.listener = this};
  std::optional<Status> end_;
  Lane lane_{link_.groups(), 1, {.rank = 3}};
  std::unique_ptr<Listener> listener_;
  UniqueFd theirs_;  // that the link writes to
};

// It may send its last message and end before the process that welcomed it goes on.
TEST_F(WelcomedPeerTest, WhatItSendsIsReadThoughItEndsAtOnce) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  UniqueFd ours(ends[0]), written(ends[1]);
  link_.end_former();
  send_message(written.get());
  written.reset();
  theirs_.reset();
  link_.accept(std::move(ours), {});
  EXPECT_TRUE(comes_true([this] { return serve(), end_.has_value(); }));
  EXPECT_TRUE(end_->ok()) << end_->to_string();
  EXPECT_TRUE(comes_true([this] { return serve(), lane_.lost(); }));
}

// Its former life has ended, and what it sends belongs to groups that are made later.
TEST_F(WelcomedPeerTest, AnEndBeforeTheWelcomeIsOfTheFormerConnections) {
  theirs_.reset();
  EXPECT_TRUE(comes_true([this] { return link_.end_former(), lane_.lost(); }));
  EXPECT_FALSE(end_->ok());
}

}  // namespace
}  // namespace paceline::testing
