// A head's and an agent's end of one connection over gRPC, in two loops of one thread.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "launcher/channel/agent_server.h"
#include "launcher/channel/head_dial.h"
#include "tests/harness/collecting_log.h"

namespace paceline::launcher {

inline constexpr const char* kTestVersion = "1.2.3";

/// A head that expects agent 0 of host "a".
class TestHead {
 public:
  explicit TestHead(EventLoop& loop) : loop_(loop) {
    server =
        AgentServer::start(
            loop, {.version = kTestVersion, .log = log},
            {.arrived =
                 [this](std::size_t, const std::string& from, std::unique_ptr<AgentChannel> came) {
                   agent = std::move(came);
                   address = from;
                 },
             .refused = [this](std::size_t, const std::string& why) { refused = why; }})
            .value();
    invitation.set_certificate(server->certificate());
    invitation.add_addresses("127.0.0.1:" + std::to_string(server->port()));
    seat.set_token(server->expect(0, "a").value());
  }

  /// Dials with what the members say; the head's loop runs beside it.
  Result<std::unique_ptr<HeadChannel>> dial(EventLoop& agent_loop) {
    std::thread head([this] { EXPECT_TRUE(loop_.run().ok()); });
    auto channel = dial_head(agent_loop, invitation, seat, version);
    letters_->sender().post([this] { loop_.stop(); });
    head.join();
    // The news of it was posted before the answer, in another mailbox. A busy machine may let a
    // round pass in which nothing but the timer is looked at.
    for (int round = 0; round < (channel.ok() ? 500 : 3) && agent == nullptr; ++round) {
      loop_.after(std::chrono::milliseconds(10), [this] { loop_.stop(); });
      EXPECT_TRUE(loop_.run().ok());
    }
    return channel;
  }

  const std::shared_ptr<testing::CollectingLog> log = std::make_shared<testing::CollectingLog>();
  std::unique_ptr<AgentServer> server;
  messages::Invitation invitation;
  messages::Seat seat;
  std::string version = kTestVersion;
  std::unique_ptr<AgentChannel> agent;
  std::string refused;
  std::string address;  // the agent host's

 private:
  EventLoop& loop_;
  std::unique_ptr<Mailbox> letters_ = Mailbox::make(loop_).value();
};

}  // namespace paceline::launcher
