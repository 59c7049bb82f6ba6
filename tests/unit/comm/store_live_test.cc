// Entries that the server answers by itself, and questions that nobody waits for.

#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

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
  std::uint32_t ask(const std::string& key) {
    const Engine::Baton baton = engine_->hold();
    return client_->ask(key);
  }
  // The answer once it has come, by `deadline`.
  std::optional<std::string> await(std::uint32_t id, Deadline deadline = patient()) {
    std::optional<std::string> answer;
    const auto came = [&] { return answer = client_->answer(id), answer.has_value(); };
    (void)engine_->wait(came, deadline);
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
  EXPECT_EQ(await(id), "ring 3");
  const Engine::Baton baton = engine_->hold();
  EXPECT_EQ(client_->answer(id), std::nullopt) << "it has been taken";
  EXPECT_EQ(client_->answer(id + 1), std::nullopt) << "nobody has asked";
}

TEST_P(StoreLive, AQuestionForAnOrdinaryKeyIsAnsweredWhenItIsSet) {
  const std::uint32_t late = ask("late");
  const std::uint32_t live = ask("live/flight/3");
  EXPECT_EQ(await(live), "ring 3");
  EXPECT_EQ(await(late, brief()), std::nullopt);
  ASSERT_TRUE(store_.client()->set("late", "here", patient()).ok());
  EXPECT_EQ(await(late), "here");
}

TEST_P(StoreLive, OfTooManyQuestionsTheOldestAreForgotten) {
  const std::uint32_t first = ask("live/flight/3");
  std::uint32_t last = first;
  for (std::size_t i = 0; i < StoreClient::kMaxQuestions; ++i) last = ask("live/flight/3");
  EXPECT_EQ(await(last), "ring 3");
  const Engine::Baton baton = engine_->hold();
  EXPECT_EQ(client_->answer(first), std::nullopt);
}

TEST_P(StoreLive, WithoutAStoreAQuestionStaysUnanswered) {
  store_.stop();
  EXPECT_EQ(get_one(*client_, "key").status().code(), Code::kPeerLost);
  EXPECT_EQ(await(ask("live/flight/3"), brief()), std::nullopt);
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
