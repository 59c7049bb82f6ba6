// Who gets into a store, and who does not.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/store_strangers.h"
#include "tests/harness/collecting_log.h"
#include "tests/unit/comm/raw_connection.h"
#include "tests/unit/comm/served_store.h"

namespace paceline::testing {
namespace {

Status connect_with(const ServedStore& store, const JobKey* key) {
  return StoreClient::connect(ServedStore::engine(), store.address(), key, patient()).status();
}

TEST(StoreAccess, AnotherKeyIsDenied) {
  const ServedStore store(StoreSocket::kTcp);
  const JobKey other = JobKey::generate().value();
  const Status status = connect_with(store, &other);
  EXPECT_EQ(status.code(), Code::kDenied);
  EXPECT_NE(status.text().find("another key"), std::string::npos) << status.text();
  EXPECT_GT(store.refused(), 1u) << "it could have been pushed out, so it tries again";
  EXPECT_TRUE(connect_with(store, &store.key()).ok()) << "and does not shut the others out";
}

TEST(StoreAccess, NoKeyIsDeniedWithWhatToDo) {
  const ServedStore store(StoreSocket::kTcp);
  const Status status = connect_with(store, nullptr);
  EXPECT_EQ(status.code(), Code::kDenied);
  EXPECT_NE(status.text().find("PACELINE_JOB_KEY_FILE"), std::string::npos) << status.text();
}

TEST(StoreAccess, OverAUnixSocketNoKeyIsNeeded) {
  const ServedStore store(StoreSocket::kUnix);
  EXPECT_TRUE(connect_with(store, nullptr).ok());
}

TEST(StoreAccess, NothingIsServedOverTcpWithoutAKey) {
  const auto server = StoreServer::serve_tcp(SocketAddress::parse("127.0.0.1:0").value(), nullptr);
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.status().code(), Code::kDenied);
}

TEST(StoreAccess, AProofForDataConnectionsIsNoneForTheStore) {
  const ServedStore store(StoreSocket::kTcp);
  RawConnection connection(store.address());
  EXPECT_EQ(connection.prove(store.key(), Purpose::kData), std::nullopt);
  EXPECT_TRUE(connection.ends());
  EXPECT_EQ(RawConnection(store.address()).prove(store.key()), Verdict::kAccepted);
}

TEST(StoreAccess, ARecordedHelloOpensNoSecondConnection) {
  const ServedStore store(StoreSocket::kTcp);
  DialerHandshake::Nonce nonce{};
  DialerHandshake dialer(store.key(), {.purpose = Purpose::kStore}, nonce);
  RawConnection first(store.address()), second(store.address());
  const Bytes hello = dialer.answer(first.receive(kChallengeBytes)).value();
  ASSERT_TRUE(first.send(hello));
  EXPECT_TRUE(dialer.read_welcome(first.receive(kWelcomeBytes)).ok());
  ASSERT_EQ(second.receive(kChallengeBytes).size(), kChallengeBytes);
  ASSERT_TRUE(second.send(hello));
  EXPECT_TRUE(second.ends());
}

TEST(StoreAccess, FramesInPlaceOfAProofAreNotServed) {
  const ServedStore store(StoreSocket::kTcp);
  RawConnection connection(store.address());
  ASSERT_TRUE(connection.send(
      {.kind = StoreFrameKind::kSet, .id = 1, .key = "intruder", .value = std::string(200, 'x')}));
  EXPECT_TRUE(connection.ends());
  EXPECT_EQ(get_one(*store.client(), "intruder", brief()).value(), std::nullopt);
}

// A job's ranks come all at once, and nobody waits outside for whom one of them would give way.
TEST(StoreAccess, AsManyAsThereIsRoomForMayComeBeforeTheFirstOfThemProvesAnything) {
  const ServedStore store(StoreSocket::kTcp);
  std::vector<std::unique_ptr<RawConnection>> connections;
  for (std::size_t i = 0; i < StoreStrangers::kMax; ++i) {
    connections.push_back(std::make_unique<RawConnection>(store.address()));
    ASSERT_TRUE(connections.back()->connected());
  }
  for (const auto& connection : connections) {
    ASSERT_EQ(connection->prove(store.key()), Verdict::kAccepted);
  }
  EXPECT_EQ(store.refused(), 0u);
}

// Only raw system calls in the child: it is forked while the server's thread runs.
bool other_user_is_served(const SocketAddress& address) {
  constexpr uid_t kNobody = 65534;
  const pid_t child = ::fork();
  if (child == 0) {
    const bool other = ::setuid(kNobody) == 0;
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const bool connected = ::connect(fd, address.data(), address.size()) == 0;
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const unsigned char get_nothing[] = {13, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const bool sent = ::send(fd, get_nothing, sizeof get_nothing, MSG_NOSIGNAL) > 0;
    char byte = 0;
    ::_exit(other && connected && sent && ::recv(fd, &byte, 1, 0) == 1 ? 1 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

TEST(StoreAccess, AnotherUserIsNotServedOverAUnixSocket) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user to try it";
  const auto log = std::make_shared<CollectingLog>();
  const ServedStore store(StoreSocket::kUnix, {.log = log});
  ASSERT_TRUE(store.client()->set("", "there", patient()).ok());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(other_user_is_served(store.address()));
  EXPECT_EQ(store.refused(), 3u);
  EXPECT_EQ(log->lines().size(), 1u);
  EXPECT_EQ(log->count("refused user 65534"), 1u);
}

}  // namespace
}  // namespace paceline::testing
