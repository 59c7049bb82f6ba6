// Who gets into a store, and who does not.

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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
  for (std::size_t i = 0; i < StoreServer::kMaxUnauthenticated; ++i) {
    connections.push_back(std::make_unique<RawConnection>(store.address()));
    ASSERT_TRUE(connections.back()->connected());
  }
  for (const auto& connection : connections) {
    ASSERT_EQ(connection->prove(store.key()), Verdict::kAccepted);
  }
  EXPECT_EQ(store.refused(), 0u);
}

// Accepts one connection, greets as it is told to, and then writes zeros as fast as they are taken.
class FloodingServer {
 public:
  static constexpr std::size_t kMost = std::size_t{256} << 20;

  enum class Greeting { kNone, kChallenge, kWelcome };
  FloodingServer(const JobKey& key, Greeting greeting)
      : key_(key), thread_([this, greeting] { serve(greeting); }) {}
  ~FloodingServer() { stopping_ = true; }

  const SocketAddress& address() const { return address_; }
  /// Bytes that the other side or the kernel has taken.
  std::size_t sent() const { return sent_; }

 private:
  void serve(Greeting greeting) {
    const UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const timeval patience{.tv_sec = 0, .tv_usec = 100'000};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    AcceptorHandshake handshake(key_, {});
    if (greeting != Greeting::kNone) send(fd.get(), handshake.challenge());
    if (greeting == Greeting::kWelcome) {
      Bytes hello(kHelloBytes);
      EXPECT_EQ(::recv(fd.get(), hello.data(), hello.size(), MSG_WAITALL), std::ssize(hello));
      EXPECT_TRUE(handshake.read_hello(hello).ok());
      send(fd.get(), handshake.welcome(Verdict::kAccepted));
    }
    const Bytes flood = greeting == Greeting::kWelcome ? frames() : Bytes(std::size_t{1} << 16);
    while (!stopping_ && sent_ < kMost && send(fd.get(), flood)) {
    }
  }
  // Good ones, which answer nothing that was asked.
  static Bytes frames() {
    Bytes frames;
    while (frames.size() < std::size_t{1} << 16) {
      append_frame({.kind = StoreFrameKind::kValue, .id = 1u << 31, .value = "unasked"}, frames);
    }
    return frames;
  }
  // False when the other side has hung up.
  bool send(int fd, ByteView bytes) {
    while (!bytes.empty() && !stopping_) {
      const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) return false;
      if (sent < 0) continue;
      sent_ += static_cast<std::size_t>(sent);
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return true;
  }

  const JobKey& key_;
  const UniqueFd listener_ = [] {
    UniqueFd fd = listen_on(SocketAddress::parse("127.0.0.1:0").value()).value();
    ::fcntl(fd.get(), F_SETFL, 0);
    return fd;
  }();
  const SocketAddress address_ = SocketAddress::of_local_end(listener_.get()).value();
  std::atomic<std::size_t> sent_ = 0;
  std::atomic<bool> stopping_ = false;
  std::jthread thread_;
};

// What the kernel may hold of a connection, far below what is written to one who reads.
constexpr std::size_t kKernelsShare = std::size_t{32} << 20;

TEST(StoreAccess, AServerThatFloodsInsteadOfAProofIsDeniedAfterItsFirstWord) {
  const JobKey key = JobKey::generate().value();
  for (const auto greeting :
       {FloodingServer::Greeting::kNone, FloodingServer::Greeting::kChallenge}) {
    const FloodingServer server(key, greeting);
    const Status status =
        StoreClient::connect(ServedStore::engine(), server.address(), &key, patient()).status();
    EXPECT_EQ(status.code(), Code::kDenied) << status.to_string();
    EXPECT_LT(server.sent(), kKernelsShare);
  }
}

TEST(StoreAccess, AServerThatFloodsAfterItsProofDoesNotHoldUpADeadline) {
  const JobKey key = JobKey::generate().value();
  const FloodingServer server(key, FloodingServer::Greeting::kWelcome);
  const auto client =
      StoreClient::connect(ServedStore::engine(), server.address(), &key, patient()).value();
  EXPECT_EQ(get_one(*client, "key", brief()).value(), std::nullopt);
  EXPECT_LT(server.sent(), FloodingServer::kMost) << "it went on all the time";
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
