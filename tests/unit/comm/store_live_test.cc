// Entries that the server answers by itself, and questions that nobody waits for.

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "collectives/failure/store_whereabouts.h"
#include "comm/store_keys.h"
#include "tests/unit/comm/served_store.h"

namespace paceline::testing {
namespace {

std::optional<std::string> ring_of(std::string_view key) {
  if (key == "live/flight/3") return "ring 3";
  if (key == "live/long") return std::string(kMaxValueBytes + 1, 'l');
  return std::nullopt;
}

class StoreLive : public ::testing::TestWithParam<StoreSocket> {
 protected:
  std::optional<std::uint32_t> try_to_ask(const std::string& key) {
    const Engine::Baton baton = engine_->hold();
    return client_->ask(key);
  }
  std::uint32_t ask(const std::string& key) { return try_to_ask(key).value(); }
  // The answer once it has come, by `deadline`, or why none will.
  Result<std::optional<std::string>> await(std::uint32_t id, Deadline deadline = patient()) {
    Result<std::optional<std::string>> answer = std::optional<std::string>();
    const auto ended = [&] {
      answer = client_->answer(id);
      return !answer.ok() || answer->has_value();
    };
    (void)engine_->wait(ended, deadline);
    return answer;
  }

  const std::shared_ptr<PollEngine> engine_ = ServedStore::engine();
  ServedStore store_{GetParam(), {.live = ring_of}};
  const std::unique_ptr<StoreClient> client_ =
      StoreClient::connect(engine_, store_.address(), &store_.key(), patient()).value();
};

TEST_P(StoreLive, LiveKeysAreAnsweredAtOnceAndNeverStored) {
  EXPECT_EQ(get_one(*client_, "live/flight/3").value(), "ring 3");
  EXPECT_EQ(get_one(*client_, "live/flight/4").value(), "") << "no answer is an empty value";
  EXPECT_EQ(get_one(*client_, "live/long").value(), std::string(kMaxValueBytes, 'l'));
  const Status status = client_->set("live/flight/3", "forged", patient());
  EXPECT_EQ(status.code(), Code::kExhausted);
  EXPECT_NE(status.text().find("live/"), std::string::npos) << status.text();
  EXPECT_EQ(get_one(*client_, "live/flight/3").value(), "ring 3");
  EXPECT_EQ(get_one(*client_, "live", brief()).value(), std::nullopt) << "an ordinary key";
}

TEST_P(StoreLive, WithoutAFunctionLiveKeysAreEmpty) {
  const ServedStore plain(GetParam());
  EXPECT_EQ(get_one(*plain.client(), "live/flight/3").value(), "");
}

TEST_P(StoreLive, AQuestionIsAnsweredOnceWithoutAWait) {
  const std::uint32_t id = ask("live/flight/3");
  EXPECT_EQ(await(id).value(), "ring 3");
  const Engine::Baton baton = engine_->hold();
  EXPECT_FALSE(client_->answer(id).ok()) << "it has been taken";
  EXPECT_FALSE(client_->answer(id + 1).ok()) << "nobody has asked";
}

TEST_P(StoreLive, AQuestionForAnOrdinaryKeyIsAnsweredWhenItIsSet) {
  const std::uint32_t late = ask("late");
  const std::uint32_t live = ask("live/flight/3");
  EXPECT_EQ(await(live).value(), "ring 3");
  EXPECT_EQ(await(late, brief()).value(), std::nullopt);
  ASSERT_TRUE(store_.client()->set("late", "here", patient()).ok());
  EXPECT_EQ(await(late).value(), "here");
}

TEST_P(StoreLive, OfTooManyQuestionsTheOldestAreForgottenAndThatCanBeLearnt) {
  const std::uint32_t first = ask("live/flight/3");
  std::uint32_t last = first;
  for (std::size_t i = 0; i < StoreClient::kMaxQuestions; ++i) last = ask("live/flight/3");
  EXPECT_EQ(await(last).value(), "ring 3");
  EXPECT_EQ(await(first).status().code(), Code::kExhausted);
}

TEST_P(StoreLive, WithoutAStoreNothingIsAskedAndNoAnswerIsAwaited) {
  const std::uint32_t early = ask("never");
  store_.stop();
  EXPECT_EQ(get_one(*client_, "key").status().code(), Code::kPeerLost);
  EXPECT_EQ(await(early).status().code(), Code::kPeerLost);
  EXPECT_EQ(try_to_ask("live/flight/3"), std::nullopt);
}

// A store that reads nothing: what it is asked goes as far as the kernel's buffers and one frame.
TEST(StoreClientOfADeafStore, AsksNoMoreThanItsBound) {
  const UniqueFd listener =
      listen_on(SocketAddress::parse("unix:" + fresh_socket_name()).value()).value();
  const SocketAddress address = SocketAddress::of_local_end(listener.get()).value();
  const auto engine = ServedStore::engine();
  const auto client = StoreClient::connect(engine, address, nullptr, patient()).value();
  const std::string key(kMaxKeyBytes, 'k');
  const Engine::Baton baton = engine->hold();
  int asked = 0;
  while (asked < 100'000 && client->ask(key).has_value()) ++asked;
  EXPECT_GT(asked, 0);
  EXPECT_LT(asked, 100'000);
}

TEST(StoreKeys, OnlyTheWholeKeyOfAFlightRingHasARank) {
  for (const int rank : {0, 7, 70000}) EXPECT_EQ(rank_of_flight_key(flight_key(rank)), rank);
  for (const std::string key :
       {"", "live/", "live/flight", "live/flight/", "live/flight/-1", "live/flight/+1",
        "live/flight/ 1", "live/flight/1 ", "live/flight/1x", "live/flight/x", "live/flight/1/",
        "live/flight/1.0", "live/flight/0x1", "live/flight/2147483648",
        "live/flight/99999999999999999999", "Live/flight/1", "xlive/flight/1"}) {
    EXPECT_EQ(rank_of_flight_key(key), std::nullopt) << key;
  }
  EXPECT_EQ(rank_of_flight_key(std::string("live/flight/1\0", 14)), std::nullopt);
}

class Whereabouts : public ::testing::Test {
 protected:
  StoreClient& open(SocketAddress address) {
    auto client = StoreClient::connect(engine_, address, nullptr, patient()).value();
    StoreClient& borrowed = *client;
    whereabouts_.emplace(std::move(client));
    return borrowed;
  }
  void look_for(int rank) {
    const Engine::Baton baton = engine_->hold();
    whereabouts_->look_for(rank);
  }
  // What is known of `rank` once that is `expected`, or in the end.
  std::string found(int rank, const std::string& expected) {
    std::string seen;
    const auto is_known = [&] { return (seen = whereabouts_->found(rank)) == expected; };
    (void)engine_->wait(is_known, patient());
    return seen;
  }

  std::atomic<int> looks_ = 0;
  const std::shared_ptr<PollEngine> engine_ = ServedStore::engine();
  std::optional<StoreWhereabouts> whereabouts_;
};

TEST_F(Whereabouts, EachLookAsksAnewAndKeepsWhatIsKnownMeanwhile) {
  const auto count_looks = [&](std::string_view key) {
    return std::string(key) + " look " + std::to_string(++looks_);
  };
  const ServedStore store(StoreSocket::kUnix, {.live = count_looks});
  open(store.address());
  EXPECT_EQ(whereabouts_->found(3), "");
  look_for(3);
  EXPECT_EQ(found(3, "live/flight/3 look 1"), "live/flight/3 look 1");
  look_for(3);
  EXPECT_EQ(found(3, "live/flight/3 look 2"), "live/flight/3 look 2");
}

TEST_F(Whereabouts, ALookThatWasForgottenForNewerOnesIsMadeAgain) {
  const ServedStore store(StoreSocket::kUnix, {.live = ring_of});
  StoreClient& client = open(store.address());
  look_for(3);
  {
    const Engine::Baton baton = engine_->hold();
    for (std::size_t i = 0; i < StoreClient::kMaxQuestions; ++i) {
      EXPECT_TRUE(client.ask("live/flight/4").has_value());
    }
    EXPECT_EQ(whereabouts_->found(3), "");
  }
  look_for(3);
  EXPECT_EQ(found(3, "ring 3"), "ring 3");
}

// The store is deaf at first, until its queue is full, and reads afterwards.
TEST_F(Whereabouts, ALookThatCouldNotBeMadeIsMadeLater) {
  const UniqueFd listener =
      listen_on(SocketAddress::parse("unix:" + fresh_socket_name()).value()).value();
  StoreClient& client = open(SocketAddress::of_local_end(listener.get()).value());
  const std::string key(kMaxKeyBytes, 'k');
  {
    const Engine::Baton baton = engine_->hold();
    while (client.ask(key).has_value()) {
    }
  }
  look_for(3);
  const UniqueFd server = accept_from(listener.get()).value();
  Bytes received;
  std::byte buffer[4096];
  const auto is_asked = [&] {
    (void)engine_->wait([] { return false; }, brief());
    look_for(3);
    for (ssize_t got = 1; got > 0;) {
      got = ::recv(server.get(), buffer, sizeof buffer, 0);
      if (got > 0) received.insert(received.end(), buffer, buffer + got);
    }
    return to_text(received).find("live/flight/3") != std::string::npos;
  };
  EXPECT_TRUE(comes_true(is_asked));
}

// For this thread socket calls fail from here on; false where the kernel does not let it.
bool forbid_socket_calls() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_recvfrom, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(rules), .filter = rules};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// A rank keeps its client beside the fast path: rounds of the engine must not ask the kernel.
TEST(StoreClientAtRest, CostsTheEngineNoSystemCall) {
  const ServedStore store(StoreSocket::kTcp, {.live = ring_of});
  const auto engine = PollEngine::create({.spin_rounds = 1'000'000}).value();
  const auto client =
      StoreClient::connect(engine, store.address(), &store.key(), patient()).value();
  bool forbidden = false;
  const auto without_socket_calls = [&](auto body) {
    std::thread([&] {
      forbidden = forbid_socket_calls();
      if (forbidden) body();
    }).join();
  };
  without_socket_calls([&] {
    int rounds = 0;
    EXPECT_TRUE(engine->wait([&] { return ++rounds > 10'000; }, patient()));
  });
  if (!forbidden) GTEST_SKIP() << "the kernel refuses a filter of system calls";
  EXPECT_EQ(get_one(*client, "live/flight/3").value(), "ring 3");
  without_socket_calls([&] {
    EXPECT_EQ(get_one(*client, "live/flight/3").status().code(), Code::kPeerLost)
        << "what is not at rest shows that the filter works";
  });
}

INSTANTIATE_TEST_SUITE_P(Sockets, StoreLive,
                         ::testing::Values(StoreSocket::kUnix, StoreSocket::kTcp),
                         [](const auto& instance) { return name(instance.param); });

}  // namespace
}  // namespace paceline::testing
