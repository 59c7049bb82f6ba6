// Agents that try each other, all in one process and on loopback.

#include "launcher/connectivity/trials.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/socket.h"
#include "launcher/connectivity/survey.h"

namespace paceline::launcher {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t kLongBytes = 5000;

class TrialsTest : public ::testing::Test {
 protected:
  struct Agent {
    std::unique_ptr<Trials> trials;
    messages::Surveyed surveyed;
    std::vector<messages::Tried> told;
    bool done = false;
  };

  Agent& add(std::uint32_t index, const std::string& key = std::string(JobKey::kBytes, 'k')) {
    Agent& agent = *agents_.emplace_back(std::make_unique<Agent>());
    agent.trials = std::make_unique<Trials>(loop_, [this, &agent](const messages::FromAgent& it) {
      if (it.has_surveyed()) agent.surveyed = it.surveyed();
      if (!it.has_tried()) return;
      agent.told.push_back(it.tried());
      agent.done = it.tried().last();
      if (agent.done && --awaited_ == 0) loop_.stop();
    });
    messages::ToAgent message;
    message.mutable_survey()->set_job_key(key);
    message.mutable_survey()->set_host_index(index);
    EXPECT_TRUE(agent.trials->receive(message).ok());
    return agent;
  }

  static void target(messages::ToAgent& order, std::uint32_t host, std::uint32_t port,
                     std::uint32_t wave = 0) {
    messages::Target& one = *order.mutable_trials()->add_targets();
    one.set_host_index(host);
    one.set_address("127.0.0.1");
    one.set_port(port);
    one.set_wave(wave);
    order.mutable_trials()->set_long_bytes(kLongBytes);
  }

  // How the one trial of `agent` ends.
  messages::TrialEnd try_one(Agent& agent, std::uint32_t host, std::uint32_t port) {
    messages::ToAgent order;
    target(order, host, port);
    EXPECT_TRUE(agent.trials->receive(order).ok());
    run();
    EXPECT_EQ(agent.told.size(), 1u);
    return agent.told.empty() ? messages::PENDING : agent.told[0].trials(0).end();
  }
  void run() {
    const auto overdue = loop_.after(seconds(20), [this] { loop_.stop(); });
    ASSERT_TRUE(loop_.run().ok());
    loop_.cancel(overdue);
  }

  const SystemClock clock_;
  EventLoop loop_{clock_};
  std::vector<std::unique_ptr<Agent>> agents_;
  std::uint32_t awaited_ = 1;  // agents that have something to try
};

TEST_F(TrialsTest, AllReachEachOther) {
  constexpr std::uint32_t kAgents = 5;
  awaited_ = kAgents;
  for (std::uint32_t i = 0; i < kAgents; ++i) add(i);
  for (const auto& agent : agents_) EXPECT_TRUE(read_survey(agent->surveyed).ok());
  for (std::uint32_t i = 0; i < kAgents; ++i) {
    messages::ToAgent order;
    for (std::uint32_t to = 0; to < kAgents; ++to)
      if (to != i) target(order, to, agents_[to]->surveyed.door(), to % 2);
    EXPECT_TRUE(agents_[i]->trials->receive(order).ok());
  }
  run();
  for (const auto& agent : agents_) {
    EXPECT_TRUE(agent->done);
    int reached = 0;
    for (const messages::Tried& told : agent->told)
      for (const messages::Trial& trial : told.trials())
        reached += trial.end() == messages::REACHED ? 1 : 0;
    EXPECT_EQ(reached, static_cast<int>(kAgents) - 1);
    EXPECT_LE(agent->told.size(), 2u) << "a report for each wave";
  }
}

TEST_F(TrialsTest, MoreThanMayBeUnderWayAtOnce) {
  Agent& from = add(0);
  const std::uint32_t port = add(1).surveyed.door();
  messages::ToAgent order;
  for (std::size_t i = 0; i < 3 * Trials::kMostAtOnce; ++i) target(order, 1, port);
  EXPECT_TRUE(from.trials->receive(order).ok());
  run();
  ASSERT_EQ(from.told.size(), 1u);
  for (const messages::Trial& trial : from.told[0].trials())
    EXPECT_EQ(trial.end(), messages::REACHED);
  EXPECT_EQ(from.told[0].trials_size(), static_cast<int>(3 * Trials::kMostAtOnce));
}

TEST_F(TrialsTest, NoTargetsAreDoneAtOnce) {
  Agent& agent = add(0);
  messages::ToAgent order;
  order.mutable_trials();
  EXPECT_TRUE(agent.trials->receive(order).ok());
  EXPECT_TRUE(agent.done);
}

TEST_F(TrialsTest, NobodyListens) {
  Agent& from = add(0);
  add(1).trials->end();
  EXPECT_EQ(try_one(from, 1, agents_[1]->surveyed.door()), messages::REFUSED);
}

TEST_F(TrialsTest, AnotherHostOfTheJobAnswers) {
  Agent& from = add(0);
  EXPECT_EQ(try_one(from, 1, add(2).surveyed.door()), messages::OTHER_HOST);
}

TEST_F(TrialsTest, AHostOfAnotherJobAnswers) {
  Agent& from = add(0);
  Agent& other = add(1, std::string(JobKey::kBytes, 'o'));
  EXPECT_EQ(try_one(from, 1, other.surveyed.door()), messages::OTHER_HOST);
}

TEST_F(TrialsTest, SomethingElseAnswers) {
  const UniqueFd listener = listen_on(*SocketAddress::parse("127.0.0.1:0")).value();
  const int port = SocketAddress::of_local_end(listener.get())->port();
  UniqueFd peer;
  loop_.when_readable(listener.get(), [&] {
    peer = accept_from(listener.get()).value();
    constexpr std::string_view kWords = "HTTP/1.1 400 Bad Request and so on, and so on, and so on";
    EXPECT_GT(::send(peer.get(), kWords.data(), kWords.size(), MSG_NOSIGNAL), 0);
  });
  EXPECT_EQ(try_one(add(0), 1, static_cast<std::uint32_t>(port)), messages::OTHER_HOST);
  loop_.forget_readable(listener.get());
}

TEST_F(TrialsTest, NobodySpeaks) {
  const UniqueFd listener = listen_on(*SocketAddress::parse("127.0.0.1:0")).value();
  const int port = SocketAddress::of_local_end(listener.get())->port();
  const TimePoint begin = clock_.now();
  EXPECT_EQ(try_one(add(0), 1, static_cast<std::uint32_t>(port)), messages::SILENT);
  EXPECT_GE(clock_.now() - begin, Trials::kPatience);
}

TEST_F(TrialsTest, AnAddressThatIsNoneIsNoWay) {
  Agent& from = add(0);
  messages::ToAgent order;
  target(order, 1, 4000);
  order.mutable_trials()->mutable_targets(0)->set_address("node1");
  EXPECT_TRUE(from.trials->receive(order).ok());
  EXPECT_TRUE(from.done);
  EXPECT_EQ(from.told[0].trials(0).end(), messages::NO_WAY);
}

TEST_F(TrialsTest, OrdersThatCannotBeAreErrors) {
  Trials trials(loop_, [](const messages::FromAgent&) {});
  messages::ToAgent order;
  order.mutable_trials();
  EXPECT_FALSE(trials.receive(order).ok()) << "before a survey";
  messages::ToAgent survey;
  survey.mutable_survey()->set_job_key("short");
  EXPECT_FALSE(trials.receive(survey).ok());
  survey.mutable_survey()->set_job_key(std::string(JobKey::kBytes, 'k'));
  EXPECT_TRUE(trials.receive(survey).ok());
  EXPECT_FALSE(trials.receive(survey).ok()) << "twice";
  order.mutable_trials()->set_long_bytes(TrialServer::kMaxLongBytes + 1);
  EXPECT_FALSE(trials.receive(order).ok());
  order.mutable_trials()->set_long_bytes(1);
  target(order, 1, 4000, 1u << 31);
  EXPECT_FALSE(trials.receive(order).ok()) << "too many waves";
}

// ---- Unauthenticated connections -----------------------------------------------------------

class TrialServerTest : public TrialsTest {
 protected:
  TrialServerTest() : server_(TrialServer::open(loop_, key_, {.host_index = 1}).value()) {}

  UniqueFd connect(std::string_view words = "") {
    const std::string at = "127.0.0.1:" + std::to_string(server_->port());
    UniqueFd fd = start_connect(*SocketAddress::parse(at)).value();
    if (words.empty()) return fd;
    EXPECT_EQ(::send(fd.get(), words.data(), words.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(words.size()));
    return fd;
  }
  // What comes until the server closes the connection, for so long.
  std::size_t hears(const UniqueFd& fd, Duration patience = seconds(20)) {
    std::size_t bytes = 0;
    hung_up_ = false;
    loop_.when_readable(fd.get(), [&] {
      std::array<char, 4096> some;
      const ssize_t got = ::recv(fd.get(), some.data(), some.size(), MSG_DONTWAIT);
      if (got > 0) bytes += static_cast<std::size_t>(got);
      if (got <= 0) {
        hung_up_ = true;
        loop_.stop();
      }
    });
    const auto overdue = loop_.after(patience, [this] { loop_.stop(); });
    EXPECT_TRUE(loop_.run().ok());
    loop_.cancel(overdue);
    loop_.forget_readable(fd.get());
    return bytes;
  }

  const JobKey key_ = JobKey::from_bytes(std::array<std::byte, JobKey::kBytes>{});
  std::unique_ptr<TrialServer> server_;
  bool hung_up_ = false;
};

TEST_F(TrialServerTest, WordsThatProveNothingAreHungUpOn) {
  for (const std::string& words : {std::string(kHelloBytes, 'x'), std::string(100'000, '\0'),
                                   std::string("GET / HTTP/1.1\r\n\r\n").append(100, ' ')}) {
    const UniqueFd fd = connect(words);
    EXPECT_LE(hears(fd), kChallengeBytes);
    EXPECT_TRUE(hung_up_);
  }
  EXPECT_EQ(server_->refused(), 3u);
}

TEST_F(TrialServerTest, AProofForAnotherPurposeIsRefused) {
  for (const Purpose purpose : {Purpose::kData, Purpose::kStore}) {
    const UniqueFd fd = connect();
    DialerHandshake handshake(key_, {.purpose = purpose, .from = 0, .to = 1}, {});
    Bytes challenge;
    loop_.when_readable(fd.get(), [&] {
      challenge.resize(kChallengeBytes);
      EXPECT_EQ(::recv(fd.get(), challenge.data(), challenge.size(), 0),
                static_cast<ssize_t>(kChallengeBytes));
      loop_.stop();
    });
    ASSERT_TRUE(loop_.run().ok());
    const Bytes hello = handshake.answer(challenge).value();
    EXPECT_EQ(::send(fd.get(), hello.data(), hello.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(kHelloBytes));
    EXPECT_EQ(hears(fd), 0u);
    EXPECT_TRUE(hung_up_);
  }
  EXPECT_EQ(server_->refused(), 2u);
}

TEST_F(TrialServerTest, ASilentOneIsLetGo) {
  const UniqueFd fd = connect();
  EXPECT_EQ(hears(fd), kChallengeBytes);
  EXPECT_TRUE(hung_up_);
  EXPECT_EQ(server_->refused(), 1u);
}

TEST_F(TrialServerTest, AHostGetsInThroughAFloodOfConnections) {
  std::vector<UniqueFd> flood;
  for (std::size_t i = 0; i < TrialServer::kMaxUnauthenticated + 50; ++i)
    flood.push_back(connect());
  Trials trials(loop_, [this](const messages::FromAgent& told) {
    if (!told.has_tried()) return;
    EXPECT_EQ(told.tried().trials(0).end(), messages::REACHED);
    loop_.stop();
  });
  messages::ToAgent message;
  message.mutable_survey()->set_job_key(std::string(JobKey::kBytes, '\0'));
  ASSERT_TRUE(trials.receive(message).ok());
  target(message, 1, static_cast<std::uint32_t>(server_->port()));
  ASSERT_TRUE(trials.receive(message).ok());
  run();
  EXPECT_GE(server_->refused(), 51u);
}

}  // namespace
}  // namespace paceline::launcher
