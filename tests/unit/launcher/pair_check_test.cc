#include "launcher/head/pair_check.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/connectivity/survey.h"

namespace paceline::launcher {
namespace {

// An agent that has the addresses 10.0.0.N and 10.1.0.N, and finds of the others what the test
// wants.
class PairedAgent final : public AgentChannel {
 public:
  PairedAgent(EventLoop& loop, int number) : loop_(loop), number_(number) {}

  void open(Receive receive, Closed closed) override {
    receive_ = std::move(receive);
    closed_ = std::move(closed);
  }
  Status send(const messages::ToAgent& message) override {
    if (message.has_survey()) question_ = message.survey().number();
    if (message.has_survey() && answers_survey) say(survey());
    if (message.has_survey() && lie) say(lie(survey()));
    if (message.has_trials()) tried(message.trials());
    return Status();
  }
  std::size_t backlog_bytes() const override { return 0; }
  void when_drained(std::function<void()>) override {}
  void set_reading(bool) override {}

  void vanish() { closed_(Status()); }
  void say(const messages::FromAgent& message) {
    loop_.after(Duration::zero(), [this, message] { receive_(message); });
  }
  messages::FromAgent survey() const {
    messages::FromAgent message;
    messages::Surveyed& surveyed = *message.mutable_surveyed();
    surveyed.set_number(question_);
    surveyed.set_host_name("node" + std::to_string(number_));
    surveyed.set_machine(surveyed.host_name());
    surveyed.set_door(4000);
    surveyed.set_time_ns((SystemWallClock().since_1970() + clock_ahead).count());
    for (const char* network : {"10.0.0.", "10.1.0."}) {
      messages::HostAddress& address = *surveyed.add_addresses();
      address.set_interface(network[3] == '0' ? "eth0" : "eth1");
      address.set_address(network + std::to_string(number_));
      address.set_prefix_bits(24);
      address.set_mtu(1500);
      address.set_up(true);
    }
    return message;
  }
  void tried(const messages::Try& order) {
    messages::FromAgent message;
    bool all = true;
    for (int i = 0; i < order.targets_size(); ++i) {
      const messages::TrialEnd end = finds(order.targets(i));
      all &= end != messages::PENDING;
      if (end == messages::PENDING) continue;
      messages::Trial& trial = *message.mutable_tried()->add_trials();
      trial.set_target(static_cast<std::uint32_t>(i));
      trial.set_end(end);
    }
    message.mutable_tried()->set_last(all);
    say(message);
  }

  bool answers_survey = true;
  std::function<messages::FromAgent(messages::FromAgent)> lie;  // what it says instead
  Duration clock_ahead{};
  std::function<messages::TrialEnd(const messages::Target&)> finds = [](const messages::Target&) {
    return messages::REACHED;
  };

 private:
  EventLoop& loop_;
  const int number_;
  std::int64_t question_ = 0;  // the number of the last one
  Receive receive_;
  Closed closed_;
};

class PairCheckTest : public ::testing::Test {
 protected:
  PairCheckTest() {
    for (int number = 1; number <= 3; ++number)
      agents_.push_back(std::make_unique<PairedAgent>(loop_, number));
  }

  Status check(const NetChoice& choice = {}) {
    std::vector<HostAgent> hosts;
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      messages::Start start;
      start.set_host("h" + std::to_string(i + 1));
      start.set_address("10.0.0." + std::to_string(i + 1));
      hosts.push_back({.channel = *agents_[i], .start = start});
    }
    const TimePoint begin = clock_.now();
    Status status =
        check_pairs(loop_, hosts,
                    {.choice = choice,
                     .warn = [this](const std::string& text) { warnings_.push_back(text); },
                     .faults = faults_});
    took_ = clock_.now() - begin;
    for (const HostAgent& host : hosts) addresses_.push_back(host.start.address());
    return status;
  }
  static std::string text(const Status& status) { return status.text(); }

  const SystemClock clock_;
  EventLoop loop_{clock_};
  std::vector<std::unique_ptr<PairedAgent>> agents_;
  std::vector<std::string> warnings_;
  std::vector<std::string> addresses_;
  HostFaults faults_;
  Duration took_{};
};

using AddressTexts = std::vector<std::string>;

bool is_of(const messages::Target& target, const char* network) {
  return target.address().starts_with(network);
}

TEST_F(PairCheckTest, TheFirstNetworkIsTakenWhereAllIsWell) {
  EXPECT_TRUE(check().ok());
  EXPECT_EQ(addresses_, (AddressTexts{"10.0.0.1", "10.0.0.2", "10.0.0.3"}));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(PairCheckTest, WhatIsWorseThanWhatWorksIsNotWaitedFor) {
  for (auto& agent : agents_)
    agent->finds = [](const messages::Target& target) {
      return is_of(target, "10.0.") ? messages::REACHED : messages::PENDING;
    };
  EXPECT_TRUE(check().ok());
  EXPECT_EQ(addresses_[0], "10.0.0.1");
  EXPECT_LT(took_, std::chrono::milliseconds(1500)) << "nor is its patience";
}

TEST_F(PairCheckTest, ABetterNetworkThatLeadsNowhereIsNotWaitedForLong) {
  for (auto& agent : agents_)
    agent->finds = [](const messages::Target& target) {
      return is_of(target, "10.1.") ? messages::REACHED : messages::PENDING;
    };
  EXPECT_TRUE(check().ok());
  EXPECT_EQ(addresses_, (AddressTexts{"10.1.0.1", "10.1.0.2", "10.1.0.3"}));
  EXPECT_LT(took_, std::chrono::milliseconds(1500));
}

TEST_F(PairCheckTest, TheChoiceHolds) {
  EXPECT_TRUE(check(*NetChoice::choose({.paceline = "=eth1"})).ok());
  EXPECT_EQ(addresses_[2], "10.1.0.3");
}

TEST_F(PairCheckTest, WithoutAWayThereIsAMatrix) {
  for (auto& agent : agents_)
    agent->finds = [](const messages::Target& target) {
      return target.host_index() == 1 ? messages::NO_ANSWER : messages::REACHED;
    };
  const std::string said = text(check());
  EXPECT_NE(said.find("look at host h2: data that others send to it does not arrive\n"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("  h1         -   no answer  ok\n"), std::string::npos) << said;
}

TEST_F(PairCheckTest, AnAgentThatDoesNotAnswerIsNamed) {
  agents_[2]->answers_survey = false;
  EXPECT_EQ(text(check()).substr(0, 60),
            "host h3: the agent connected, but has not answered for 2.5 s");
}

TEST_F(PairCheckTest, AnAgentThatGoesIsNamed) {
  agents_[1]->answers_survey = false;
  loop_.after(std::chrono::milliseconds(1), [this] { agents_[1]->vanish(); });
  EXPECT_EQ(text(check()), "host h2: the agent is gone");
}

TEST_F(PairCheckTest, AnAgentThatFailsIsNamed) {
  agents_[1]->answers_survey = false;
  messages::FromAgent failure;
  failure.mutable_failure()->set_text("no descriptors left");
  agents_[1]->say(failure);
  EXPECT_EQ(text(check()), "host h2: no descriptors left");
}

TEST_F(PairCheckTest, NothingThatAnAgentSaysIsBelievedBlindly) {
  agents_[1]->answers_survey = false;
  agents_[1]->lie = [](messages::FromAgent answer) {
    answer.mutable_surveyed()->set_door(70'000);
    return answer;
  };
  EXPECT_EQ(text(check()), "host h2: its agent sent an invalid port");
}

// They may arrive before the answers to this one.
TEST_F(PairCheckTest, AnswersToACheckBeforeAreDropped) {
  messages::FromAgent tried;
  tried.mutable_tried()->set_last(true);
  agents_[1]->say(tried);
  messages::FromAgent surveyed = agents_[1]->survey();
  surveyed.mutable_surveyed()->set_number(-1);
  surveyed.mutable_surveyed()->set_door(70'000);
  agents_[1]->say(surveyed);
  EXPECT_TRUE(check().ok());
}

TEST_F(PairCheckTest, MessagesAfterACheckAreDropped) {
  EXPECT_TRUE(check().ok());
  messages::FromAgent alive;
  alive.mutable_alive();
  agents_[1]->say(alive);
  loop_.after(std::chrono::milliseconds(1), [this] {
    agents_[0]->vanish();
    loop_.stop();
  });
  loop_.run().value();
  EXPECT_TRUE(faults_.all().empty());
}

TEST_F(PairCheckTest, AClockThatIsOffIsWarnedOf) {
  agents_[2]->clock_ahead = std::chrono::seconds(300);
  EXPECT_TRUE(check().ok());
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(warnings_[0].substr(0, 48), "warning: the clock of host h3 is 300 s ahead of ");
}

TEST_F(PairCheckTest, ALoopThatIsStoppedCancelsIt) {
  agents_[1]->answers_survey = false;
  loop_.after(std::chrono::milliseconds(1), [this] { loop_.stop(); });
  EXPECT_EQ(check().code(), Code::kCancelled);
}

TEST_F(PairCheckTest, AJobOfOneHostIsLeftAsItIs) {
  agents_.resize(1);
  agents_[0]->answers_survey = false;
  EXPECT_TRUE(check().ok());
  EXPECT_EQ(addresses_, AddressTexts{"10.0.0.1"});
}

}  // namespace
}  // namespace paceline::launcher
