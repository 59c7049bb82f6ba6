// Store server, client and rendezvous together, over a Unix socket and over TCP with a key.

#include <atomic>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "comm/rendezvous.h"
#include "comm/store_client.h"
#include "comm/store_server.h"

namespace paceline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string unique_name() {
  static std::atomic<int> number{0};
  return "@paceline-test-" + std::to_string(::getpid()) + "-" + std::to_string(number++);
}

struct Client {
  std::shared_ptr<PollEngine> engine = PollEngine::create({}).value();
  Deadline in(Duration time) const { return Deadline::after(engine->clock(), time); }
  Result<std::unique_ptr<StoreClient>> connect(const StoreServer& server, const JobKey* key,
                                               Duration patience = seconds(20)) const {
    return StoreClient::connect(engine, server.address(), key, in(patience));
  }
};

std::unique_ptr<JobKey> copy_of(const JobKey& key) {
  return std::make_unique<JobKey>(JobKey::from_descriptor(key.to_memfd().value().get()).value());
}

TEST(Store, AValueIsThereForThoseWhoAskBeforeAndAfter) {
  const auto server = StoreServer::serve_unix(unique_name()).value();
  const std::vector<std::string> keys = {"a", "b"};
  std::thread early([&] {
    const Client mine;
    const auto store = mine.connect(*server, nullptr).value();
    const auto values = store->get(keys, mine.in(seconds(20))).value();
    EXPECT_EQ(values[0], "1");
    EXPECT_EQ(values[1], "2");
  });
  const Client mine;
  const auto store = mine.connect(*server, nullptr).value();
  EXPECT_TRUE(store->set("a", "1", mine.in(seconds(20))).ok());
  EXPECT_TRUE(store->set("b", "2", mine.in(seconds(20))).ok());
  early.join();
  EXPECT_EQ(store->get(keys, mine.in(seconds(20))).value()[1], "2");
}

TEST(Store, WhatHasNotComeByTheDeadlineIsAbsent) {
  const auto server = StoreServer::serve_unix(unique_name()).value();
  const Client mine;
  const auto store = mine.connect(*server, nullptr).value();
  ASSERT_TRUE(store->set("there", "x", mine.in(seconds(20))).ok());
  const std::vector<std::string> keys = {"there", "absent"};
  const auto values = store->get(keys, mine.in(milliseconds(50))).value();
  EXPECT_EQ(values[0], "x");
  EXPECT_FALSE(values[1].has_value());
}

TEST(Store, RefusesWhatIsTooLong) {
  const auto server = StoreServer::serve_unix(unique_name()).value();
  const Client mine;
  const auto store = mine.connect(*server, nullptr).value();
  const std::string key(kMaxKeyBytes + 1, 'k');
  EXPECT_EQ(store->set(key, "", mine.in(seconds(20))).code(), Code::kInvalidArgument);
  const std::string largest(kMaxValueBytes, 'v');
  EXPECT_TRUE(store->set("k", largest, mine.in(seconds(20))).ok());
  const std::vector<std::string> keys = {"k"};
  EXPECT_EQ(store->get(keys, mine.in(seconds(20))).value()[0], largest);
}

TEST(Store, OverTcpTheKeyIsAskedFor) {
  const JobKey key = JobKey::generate().value();
  const JobKey other = JobKey::generate().value();
  const auto server =
      StoreServer::serve_tcp(SocketAddress::parse("127.0.0.1:0").value(), copy_of(key)).value();
  const Client mine;
  EXPECT_EQ(mine.connect(*server, nullptr).status().code(), Code::kDenied);
  EXPECT_EQ(mine.connect(*server, &other).status().code(), Code::kDenied);
  const auto store = mine.connect(*server, &key).value();
  EXPECT_TRUE(store->set("a", "1", mine.in(seconds(20))).ok());
}

TEST(Store, StrangersDisturbNobody) {
  const JobKey key = JobKey::generate().value();
  const auto server =
      StoreServer::serve_tcp(SocketAddress::parse("127.0.0.1:0").value(), copy_of(key)).value();
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 40; ++i) {
    strangers.push_back(start_connect(server->address()).value());
    const std::string noise(i % 3 == 0 ? 7 : 4096, static_cast<char>(i));
    (void)::send(strangers.back().get(), noise.data(), noise.size(), MSG_NOSIGNAL);
  }
  const Client mine;
  const auto store = mine.connect(*server, &key).value();
  EXPECT_TRUE(store->set("a", "1", mine.in(seconds(20))).ok());
}

TEST(Store, AServerThatGoesAwayIsNamed) {
  auto server = StoreServer::serve_unix(unique_name()).value();
  const std::string where = server->address().to_string();
  const Client mine;
  const auto store = mine.connect(*server, nullptr).value();
  server.reset();
  const Status status = store->set("a", "1", mine.in(seconds(20)));
  EXPECT_EQ(status.code(), Code::kPeerLost);
  EXPECT_NE(status.text().find(where), std::string::npos) << status.text();
}

TEST(Rendezvous, EveryoneSeesEveryone) {
  const auto server = StoreServer::serve_unix(unique_name()).value();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      const Client mine;
      const auto store = mine.connect(*server, nullptr).value();
      const Member self{.host = "h" + std::to_string(rank), .address = "a", .pid = rank};
      const Group group =
          rendezvous(*store, {.rank = rank, .size = 3, .self = self}, mine.in(seconds(20))).value();
      EXPECT_EQ(group.rank, rank);
      ASSERT_EQ(group.size(), 3);
      for (int other = 0; other < 3; ++other) {
        EXPECT_EQ(group.members[static_cast<std::size_t>(other)].pid, other);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Rendezvous, NamesThoseWhoHaveNotCome) {
  const auto server = StoreServer::serve_unix(unique_name()).value();
  const Client mine;
  const auto store = mine.connect(*server, nullptr).value();
  const Status status =
      rendezvous(*store, {.rank = 1, .size = 3}, mine.in(milliseconds(50))).status();
  EXPECT_EQ(status.code(), Code::kTimeout);
  EXPECT_NE(status.text().find("2 of 3 ranks have not come to the rendezvous: 0, 2"),
            std::string::npos)
      << status.text();
}

}  // namespace
}  // namespace paceline
