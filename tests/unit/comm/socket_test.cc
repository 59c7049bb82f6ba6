#include "comm/socket.h"

#include <algorithm>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "tests/unit/comm/socket_name.h"

namespace paceline {
namespace {

constexpr int kPatienceMs = 20'000;

bool becomes(int fd, short events) {
  pollfd polled{.fd = fd, .events = events};
  return ::poll(&polled, 1, kPatienceMs) == 1;
}

// One connection over each kind of address.
class SocketTest : public ::testing::TestWithParam<std::string> {
 protected:
  SocketTest() {
    const std::string text =
        GetParam() == "unix" ? "unix:" + testing::fresh_socket_name() : GetParam();
    listener_ = listen_on(SocketAddress::parse(text).value()).value();
    address_ = SocketAddress::of_local_end(listener_.get()).value();
  }

  UniqueFd listener_;
  SocketAddress address_;
};

TEST_P(SocketTest, ConnectsAndCarriesBytes) {
  const UniqueFd dialer = start_connect(address_).value();
  ASSERT_TRUE(becomes(listener_.get(), POLLIN));
  const UniqueFd acceptor = accept_from(listener_.get()).value();
  ASSERT_TRUE(acceptor);
  ASSERT_TRUE(becomes(dialer.get(), POLLOUT));
  EXPECT_TRUE(connect_error(dialer.get(), address_).ok());
  ASSERT_EQ(::write(dialer.get(), "x", 1), 1);
  ASSERT_TRUE(becomes(acceptor.get(), POLLIN));
  char byte = 0;
  EXPECT_EQ(::read(acceptor.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(SocketAddress::of_remote_end(dialer.get()).value().to_string(), address_.to_string());
}

TEST_P(SocketTest, NothingBlocksAndNothingIsInherited) {
  const UniqueFd dialer = start_connect(address_).value();
  ASSERT_TRUE(becomes(listener_.get(), POLLIN));
  const UniqueFd acceptor = accept_from(listener_.get()).value();
  for (const int fd : {listener_.get(), dialer.get(), acceptor.get()}) {
    EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  }
  const Result<UniqueFd> none = accept_from(listener_.get());
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(*none) << "nobody else is there";
}

TEST_P(SocketTest, ATakenAddressIsNamed) {
  const Status status = listen_on(address_).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.text().find("cannot listen on " + address_.to_string()), std::string::npos)
      << status.text();
}

TEST_P(SocketTest, WhereNobodyListensIsNamed) {
  listener_.reset();
  const Result<UniqueFd> dialer = start_connect(address_);
  Status status = dialer.status();
  if (dialer.ok()) {
    ASSERT_TRUE(becomes(dialer->get(), POLLOUT));
    status = connect_error(dialer->get(), address_);
  }
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.text().find(address_.to_string()), std::string::npos) << status.text();
}

std::string kind_of(const ::testing::TestParamInfo<std::string>& instance) {
  if (instance.param == "unix") return "unix";
  return instance.param.front() == '[' ? "ipv6" : "ipv4";
}
INSTANTIATE_TEST_SUITE_P(Addresses, SocketTest, ::testing::Values("127.0.0.1:0", "[::1]:0", "unix"),
                         kind_of);

class PortRangeTest : public ::testing::TestWithParam<std::string> {};

// The range consists of ports that the kernel has just chosen, so they are free.
TEST_P(PortRangeTest, TheFirstFreePortIsTaken) {
  const SocketAddress any = SocketAddress::parse(GetParam()).value();
  const UniqueFd taken = listen_on(any).value();
  const int port = SocketAddress::of_local_end(taken.get()).value().port();
  const PortRange one{.first = port, .last = port};
  const Status full = listen_on(any, one).status();
  EXPECT_EQ(full.code(), Code::kExhausted);
  EXPECT_NE(full.text().find("all ports of PACELINE_PORT_RANGE=" + one.to_string() +
                             " are in use; set a larger range"),
            std::string::npos)
      << full.text();
  const PortRange more{.first = port, .last = std::min(port + 200, 65535)};
  const UniqueFd next = listen_on(any, more).value();
  const int chosen = SocketAddress::of_local_end(next.get()).value().port();
  EXPECT_GT(chosen, more.first);
  EXPECT_LE(chosen, more.last);
}
INSTANTIATE_TEST_SUITE_P(Addresses, PortRangeTest, ::testing::Values("127.0.0.1:0", "[::1]:0"),
                         kind_of);

TEST(PortRange, AStatedPortIsNotChanged) {
  const UniqueFd any = listen_on(SocketAddress::parse("127.0.0.1:0").value()).value();
  const SocketAddress stated = SocketAddress::of_local_end(any.get()).value();
  EXPECT_EQ(listen_on(stated, {.first = 1, .last = 65535}).status().code(), Code::kUnavailable);
}

TEST(PortRange, AllAddressesHaveOnePort) {
  const UniqueFd all = listen_on_all({}).value();
  const int port = SocketAddress::of_local_end(all.get()).value().port();
  for (const char* address : {"127.0.0.1", "::1"}) {
    const SocketAddress there = SocketAddress::parse(with_port(address, port)).value();
    const UniqueFd dialer = start_connect(there).value();
    ASSERT_TRUE(becomes(dialer.get(), POLLOUT));
    EXPECT_TRUE(connect_error(dialer.get(), there).ok()) << address;
  }
}

struct TcpPair {
  TcpPair() {
    const UniqueFd listener = listen_on(SocketAddress::parse("127.0.0.1:0").value()).value();
    dialer = start_connect(SocketAddress::of_local_end(listener.get()).value()).value();
    EXPECT_TRUE(becomes(listener.get(), POLLIN));
    acceptor = accept_from(listener.get()).value();
  }
  UniqueFd dialer, acceptor;
};

TEST(Socket, TcpSendsSmallMessagesAtOnce) {
  const TcpPair pair;
  for (const int fd : {pair.dialer.get(), pair.acceptor.get()}) {
    int on = 0;
    socklen_t size = sizeof on;
    ASSERT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
    EXPECT_NE(on, 0);
  }
}

TEST(Socket, WhoWaitsForMuchIsNotToldOfLess) {
  TcpPair pair;
  const std::string bytes(1000, 'x');
  const auto send = [&] {
    EXPECT_EQ(::write(pair.dialer.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  };
  const auto has_come = [&] {
    pollfd polled{.fd = pair.acceptor.get(), .events = POLLIN};
    return ::poll(&polled, 1, 50) == 1;
  };
  set_least_readable(pair.acceptor.get(), 2 * bytes.size());
  send();
  EXPECT_FALSE(has_come());
  send();
  EXPECT_TRUE(has_come());
  set_least_readable(pair.acceptor.get(), 3 * bytes.size());
  EXPECT_FALSE(has_come());
  set_least_readable(pair.acceptor.get(), 1);
  EXPECT_TRUE(has_come());
  set_least_readable(pair.acceptor.get(), 3 * bytes.size());
  pair.dialer = UniqueFd();  // less, but there will be no more
  EXPECT_TRUE(becomes(pair.acceptor.get(), POLLIN));
}

TEST(Socket, AUnixSocketKnowsTheUserAtItsOtherEnd) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd here(ends[0]), there(ends[1]);
  EXPECT_EQ(peer_user(here.get()).value(), ::geteuid());
  EXPECT_FALSE(peer_user(-1).ok());
}

}  // namespace
}  // namespace paceline
