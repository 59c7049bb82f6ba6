// What clients of the store see of it, over both kinds of socket.

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/comm/served_store.h"

namespace paceline::testing {
namespace {

class StoreTest : public ::testing::TestWithParam<StoreSocket> {
 protected:
  ServedStore store_{GetParam()};
};

TEST_P(StoreTest, WhatOneSetsAnotherGets) {
  const auto writer = store_.client(), reader = store_.client();
  for (const std::string& value : {std::string(), std::string("text"), std::string("\0\xff", 2),
                                   std::string(kMaxValueBytes, 'v')}) {
    ASSERT_TRUE(writer->set("key", value, patient()).ok());
    EXPECT_EQ(get_one(*reader, "key").value(), value);
    EXPECT_EQ(get_one(*writer, "key").value(), value);
  }
}

TEST_P(StoreTest, KeysMayBeAnything) {
  const auto client = store_.client();
  const std::string keys[] = {"", "/", std::string("\0", 1), std::string(kMaxKeyBytes, 'k')};
  for (const std::string& key : keys) {
    ASSERT_TRUE(client->set(key, "of " + key, patient()).ok());
  }
  const auto values = client->get(keys, patient()).value();
  for (std::size_t i = 0; i < std::size(keys); ++i) EXPECT_EQ(values[i], "of " + keys[i]);
  EXPECT_TRUE(client->get({}, patient()).value().empty());
}

TEST_P(StoreTest, AGetWaitsForItsSet) {
  const auto writer = store_.client();
  std::thread reader([this] { EXPECT_EQ(get_one(*store_.client(), "late").value(), "here"); });
  EXPECT_TRUE(writer->set("late", "here", patient()).ok());
  reader.join();
}

TEST_P(StoreTest, WhatHasNotComeByTheDeadlineIsAbsentAndTheRestIsThere) {
  const auto client = store_.client();
  ASSERT_TRUE(client->set("b", "2", patient()).ok());
  const std::string keys[] = {"a", "b", "c"};
  const auto values = client->get(keys, brief());
  ASSERT_TRUE(values.ok()) << values.status().to_string();
  EXPECT_EQ(*values, (std::vector<std::optional<std::string>>{std::nullopt, "2", std::nullopt}));
}

TEST_P(StoreTest, AnAnswerThatComesTooLateIsNobodyElses) {
  const auto client = store_.client(), other = store_.client();
  EXPECT_EQ(get_one(*client, "late", brief()).value(), std::nullopt);
  ASSERT_TRUE(other->set("late", "old", patient()).ok());
  ASSERT_TRUE(other->set("late", "new", patient()).ok());
  EXPECT_EQ(get_one(*client, "late").value(), "new");
  EXPECT_EQ(get_one(*client, "late").value(), "new");
}

// Each client goes as soon as it has the keys of all.
TEST_P(StoreTest, ManyClientsMeet) {
  constexpr int kClients = 16;
  std::vector<Awaited> all;
  for (int i = 0; i < kClients; ++i)
    all.push_back({.key = "member/" + std::to_string(i), .setter = i});
  std::vector<std::thread> threads;
  for (const Awaited& own : all) {
    threads.emplace_back([&] {
      const auto client = store_.client();
      const auto values = client->exchange(own.key, "of " + own.key, all, patient()).value();
      for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(values[i], "of " + all[i].key);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Threads of one process share an engine: whoever drives it drives the others' clients too.
TEST_P(StoreTest, ClientsOfOneEngineInSeveralThreads) {
  const auto engine = ServedStore::engine();
  std::vector<Awaited> all;
  for (int i = 0; i < 4; ++i) all.push_back({.key = std::to_string(i), .setter = i});
  std::vector<std::thread> threads;
  for (const Awaited& own : all) {
    threads.emplace_back([&] {
      const auto client =
          StoreClient::connect(engine, store_.address(), &store_.key(), patient()).value();
      const auto values = client->exchange(own.key, own.key, all, patient()).value();
      for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(values[i], all[i].key);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(StoreTest, WhatIsTooLongIsRefusedAndTheConnectionGoesOn) {
  const auto client = store_.client();
  const std::string long_key(kMaxKeyBytes + 1, 'k');
  EXPECT_EQ(client->set(long_key, "", patient()).code(), Code::kInvalidArgument);
  EXPECT_EQ(client->set("key", std::string(kMaxValueBytes + 1, 'v'), patient()).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(get_one(*client, long_key).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(client->set("key", "value", patient()).ok());
}

TEST_P(StoreTest, AStoreThatGoesAwayIsNamed) {
  const auto client = store_.client(), waiting = store_.client();
  std::thread reader([&] {
    const Status status = get_one(*waiting, "never").status();
    EXPECT_EQ(status.code(), Code::kPeerLost);
    EXPECT_NE(status.text().find(store_.address().to_string()), std::string::npos) << status.text();
  });
  ASSERT_TRUE(client->set("key", "value", patient()).ok());
  store_.stop();
  EXPECT_EQ(client->set("key", "value", patient()).code(), Code::kPeerLost);
  EXPECT_EQ(get_one(*client, "key").status().code(), Code::kPeerLost) << "and stays so";
  reader.join();
}

TEST_P(StoreTest, WhereNobodyServesTheAddressIsNamedInTime) {
  store_.stop();
  const Status status =
      StoreClient::connect(ServedStore::engine(), store_.address(), &store_.key(), brief())
          .status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.text().find(store_.address().to_string()), std::string::npos) << status.text();
}

INSTANTIATE_TEST_SUITE_P(Sockets, StoreTest,
                         ::testing::Values(StoreSocket::kUnix, StoreSocket::kTcp),
                         [](const auto& instance) { return name(instance.param); });

TEST(StoreClient, WaitsForAServerThatIsStillStarting) {
  const std::string socket = fresh_socket_name();
  const auto address = SocketAddress::parse("unix:" + socket).value();
  // Tried at least once in vain before the server is there.
  ASSERT_FALSE(StoreClient::connect(ServedStore::engine(), address, nullptr, brief()).ok());
  std::thread early([&] {
    EXPECT_TRUE(StoreClient::connect(ServedStore::engine(), address, nullptr, patient()).ok());
  });
  const auto server = StoreServer::serve_unix(socket).value();
  early.join();
}

}  // namespace
}  // namespace paceline::testing
