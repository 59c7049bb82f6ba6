// A store with unauthenticated connections, silent or noisy, and clients that must get in.

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "comm/refusal_log.h"
#include "comm/store_server.h"
#include "comm/unauthenticated_book.h"
#include "tests/harness/collecting_log.h"
#include "tests/unit/comm/raw_connection.h"
#include "tests/unit/comm/served_store.h"

namespace paceline::testing {
namespace {

bool may_open(rlim_t descriptors) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(descriptors, limit.rlim_max));
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= descriptors;
}

class StoreListenerTest : public ::testing::Test {
 protected:
  void come(int count, std::string_view noise = {}) {
    for (int i = 0; i < count; ++i) {
      connections_.push_back(std::make_unique<RawConnection>(store_.address()));
      ASSERT_TRUE(connections_.back()->connected());
      (void)connections_.back()->send(as_byte_view(noise));
    }
  }
  Status connect(Deadline deadline) const {
    return StoreClient::connect(ServedStore::engine(), store_.address(), &store_.key(), deadline)
        .status();
  }

  const std::shared_ptr<CollectingLog> log_ = std::make_shared<CollectingLog>();
  const ServedStore store_{StoreSocket::kTcp, {.log = log_}};
  std::vector<std::unique_ptr<RawConnection>> connections_;
};

TEST_F(StoreListenerTest, ManySilentOnesKeepNobodyOut) {
  constexpr int kConnections = 1000;
  if (!may_open(2 * kConnections + 100)) GTEST_SKIP() << "too few descriptors for both ends of all";
  come(kConnections);
  const SystemClock clock;
  const Status status = connect(Deadline::after(clock, UnauthenticatedBook::kMaxTime / 2));
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_GE(store_.refused(), kConnections - StoreServer::kMaxUnauthenticated);
  EXPECT_EQ(log_->count(RefusalLog::kGaveWay), 1u) << "all come from one address";
}

TEST_F(StoreListenerTest, NoiseIsRefusedAtOnceAndLoggedOnce) {
  come(50, std::string(200, 'x'));
  for (const auto& connection : connections_) EXPECT_TRUE(connection->ends());
  EXPECT_TRUE(connect(patient()).ok());
  EXPECT_EQ(store_.refused(), 50u);
  EXPECT_EQ(log_->lines().size(), 1u);
  EXPECT_EQ(log_->count("refused 127.0.0.1:"), 1u);
  EXPECT_EQ(log_->count("does not have this job's key"), 1u);
}

TEST_F(StoreListenerTest, HalfAHelloAndAHangUpAreEachLoggedForWhatTheyAre) {
  come(1, "half a hello");
  connections_.clear();
  EXPECT_TRUE(comes_true([&] { return store_.refused() == 1; }));
  EXPECT_EQ(log_->count(RefusalLog::kHungUp), 1u);
  RawConnection data(store_.address());
  EXPECT_EQ(data.prove(store_.key(), Purpose::kData), std::nullopt);
  EXPECT_TRUE(comes_true([&] { return store_.refused() == 2; }));
  EXPECT_EQ(log_->count("its hello is not for the store"), 1u);
}

TEST_F(StoreListenerTest, WhoHasProvenTheKeyNeverGivesWay) {
  const auto early = store_.client();
  ASSERT_TRUE(early->set("key", "value", patient()).ok());
  come(static_cast<int>(StoreServer::kMaxUnauthenticated) + 20);
  EXPECT_TRUE(comes_true([&] { return store_.refused() >= 20; }));
  EXPECT_EQ(get_one(*early, "key").value(), "value");
}

// The server lets nobody in while the process has no descriptor left, and goes on afterwards.
TEST_F(StoreListenerTest, WithoutDescriptorsNobodyIsAcceptedForAWhile) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto early = store_.client();
  const auto engine = ServedStore::engine();
  const rlimit few{.rlim_cur = 200, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<UniqueFd> taken;
  do {
    taken.emplace_back(::dup(STDERR_FILENO));
  } while (taken.back());
  taken.resize(taken.size() - 2);  // what failed, and one for the client's own end
  EXPECT_FALSE(
      StoreClient::connect(engine, store_.address(), &store_.key(), brief()).status().ok());
  EXPECT_TRUE(early->set("key", "value", patient()).ok()) << "who is in is served";
  taken.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(connect(patient()).ok());
}

// Closes every connection, as a crowded listener does with those that give way. After `most` it
// accepts no more.
class HangingUp final : public Driver {
 public:
  explicit HangingUp(int listener, int most = std::numeric_limits<int>::max())
      : listener_(listener), most_(most) {}
  bool drive(TimePoint now) override {
    wake_at_ = now + std::chrono::milliseconds(1);
    if (count == most_) return false;
    const UniqueFd fd = accept_from(listener_).value();
    if (fd) ++count;
    return static_cast<bool>(fd);
  }
  TimePoint wake_at() const override { return wake_at_; }

  int count = 0;

 private:
  const int listener_;
  const int most_;
  TimePoint wake_at_ = TimePoint::min();
};

void attach(Engine& engine, Driver& driver) {
  const Engine::Baton baton = engine.hold();
  engine.attach(driver);
}
void detach(Engine& engine, Driver& driver) {
  const Engine::Baton baton = engine.hold();
  engine.detach(driver);
}

// How a second of dialing ends at a listener that closes the first `most` connections, and how many
// it closed.
std::pair<Status, int> dial_crowded_listener(int most = std::numeric_limits<int>::max()) {
  const UniqueFd listener = listen_on(SocketAddress::parse("127.0.0.1:0").value()).value();
  const SocketAddress address = SocketAddress::of_local_end(listener.get()).value();
  const JobKey key = JobKey::generate().value();
  const auto engine = ServedStore::engine();
  HangingUp crowded(listener.get(), most);
  attach(*engine, crowded);
  const Deadline deadline = Deadline::after(SystemClock(), std::chrono::seconds(1));
  Status status = StoreClient::connect(engine, address, &key, deadline).status();
  detach(*engine, crowded);
  return {std::move(status), crowded.count};
}

TEST(StoreClientAtACrowdedListener, DialsAgainUntilItsDeadline) {
  const auto [status, count] = dial_crowded_listener();
  EXPECT_GT(count, 2) << status.to_string();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.text().find("too many clients"), std::string::npos) << status.text();
}

TEST(StoreClientAtACrowdedListener, SaysWhyThoughItsLastTryWasCutShort) {
  const auto [status, count] = dial_crowded_listener(1);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.text().find("too many clients"), std::string::npos) << status.text();
}

}  // namespace
}  // namespace paceline::testing
