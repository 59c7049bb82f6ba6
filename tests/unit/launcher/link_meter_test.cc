// The counts are those of the kernel: of connections of this process with itself.
#include "launcher/agent/link_meter.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/socket.h"
#include "tests/unit/comm/patience.h"

namespace paceline::launcher {
namespace {

using ::paceline::testing::comes_true;

class Connection {
 public:
  explicit Connection(const char* address) {
    const UniqueFd listening = listen_on(SocketAddress::parse(address).value()).value();
    sender_ = start_connect(SocketAddress::of_local_end(listening.get()).value()).value();
    EXPECT_TRUE(comes_true([&] {
      receiver_ = accept_from(listening.get()).value();
      return static_cast<bool>(receiver_);
    }));
  }
  void send(std::size_t bytes) {
    std::vector<char> some(bytes);
    std::size_t sent = 0, got = 0;
    EXPECT_TRUE(comes_true([&] {
      const ssize_t more = ::send(sender_.get(), some.data(), some.size() - sent, MSG_NOSIGNAL);
      if (more > 0) sent += static_cast<std::size_t>(more);
      const ssize_t came = ::recv(receiver_.get(), some.data(), some.size(), 0);
      if (came > 0) got += static_cast<std::size_t>(came);
      return got == bytes;
    }));
  }
  void end() {
    sender_.reset();
    receiver_.reset();
  }

 private:
  UniqueFd sender_, receiver_;
};

class LinkMeterTest : public ::testing::Test {
 protected:
  std::uint64_t bytes_of(const char* address) {
    // A look that took some time is followed by a pause.
    std::uint64_t bytes = 0;
    meter_.look(ranks_, clock_);
    for (const LinkReading& one : meter_.links())
      if (one.to == address) bytes += one.bytes;
    return bytes;
  }
  // Longer than the pause after a look.
  void pause() {
    const Deadline deadline = Deadline::after(clock_, std::chrono::milliseconds(500));
    while (!deadline.passed(clock_.now())) meter_.look(ranks_, clock_);
  }
  const SystemClock clock_;
  std::vector<pid_t> ranks_{::getpgrp()};
  LinkMeter meter_{true};
};

TEST_F(LinkMeterTest, CountsTheBytesOfRanks) {
  for (const char* const address : {"127.0.0.9:0", "[::1]:0"}) {
    const std::string host = without_port(SocketAddress::parse(address)->to_string());
    Connection connection(address);
    connection.send(1000000);
    if (!comes_true([&] { return bytes_of(host.c_str()) >= 1000000; }))
      FAIL() << bytes_of(host.c_str()) << " bytes to " << host;
    connection.send(500000);
    connection.end();
    EXPECT_TRUE(comes_true([&] { return bytes_of(host.c_str()) >= 1000000; }));
  }
}

// What they sent counts together, the time in which both were busy once.
TEST_F(LinkMeterTest, ParallelConnectionsCountOnceHoweverTheyEnd) {
  Connection first("127.0.0.12:0"), second("127.0.0.12:0");
  first.send(300000);
  second.send(200000);
  EXPECT_TRUE(comes_true([&] { return bytes_of("127.0.0.12") >= 500000; }));
  const std::uint64_t before = bytes_of("127.0.0.12");
  first.end();
  pause();
  EXPECT_EQ(bytes_of("127.0.0.12"), before);
  second.end();
  pause();
  EXPECT_EQ(bytes_of("127.0.0.12"), before);
  EXPECT_LT(before, 501000u);
}

TEST_F(LinkMeterTest, ConnectionsOfAProcessThatComesLaterCount) {
  const std::vector<pid_t> all = ranks_;
  ranks_ = {1};
  Connection connection("127.0.0.13:0");
  connection.send(1000);
  EXPECT_EQ(bytes_of("127.0.0.13"), 0u);
  ranks_ = all;
  EXPECT_TRUE(comes_true([&] { return bytes_of("127.0.0.13") >= 1000; }));
}

TEST_F(LinkMeterTest, ConnectionsOfOthersDoNotCount) {
  ranks_ = {1};
  Connection connection("127.0.0.10:0");
  connection.send(1000);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bytes_of("127.0.0.10"), 0u);
}

TEST_F(LinkMeterTest, AHostsConnectionsWithItselfAreNoLinks) {
  LinkMeter meter;
  Connection connection("127.0.0.11:0");
  connection.send(1000);
  meter.look(ranks_, clock_);
  for (const LinkReading& one : meter.links()) EXPECT_NE(one.to, "127.0.0.11");
}

}  // namespace
}  // namespace paceline::launcher
