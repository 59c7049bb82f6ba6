#include "launcher/head/machine_survey.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/channel/machine_text.h"
#include "tests/unit/topology/small_host.h"
#include "topology/model/finish.h"

namespace paceline::launcher {
namespace {

topology::HostModel small_machine(bool is_other) {
  topology::HostModel host = topology::small_host();
  if (is_other) host.cores.pop_back();
  return topology::finish(std::move(host), 0).value();
}

class SurveyedAgent final : public AgentChannel {
 public:
  SurveyedAgent(EventLoop& loop, bool is_other)
      : loop_(loop), packed_(pack_machine(small_machine(is_other))) {}

  void open(Receive receive, Closed closed) override {
    receive_ = std::move(receive);
    closed_ = std::move(closed);
  }
  Status send(const messages::ToAgent& message) override {
    ++(message.describe().whole() ? whole : brief);
    reserves |= message.describe().reserves();
    if (vanishes) {
      loop_.after(Duration::zero(), [this] { closed_(Status()); });
      return Status();
    }
    messages::FromAgent answer;
    messages::Described& described = *answer.mutable_described();
    described.set_number(message.describe().number());
    described.set_failure(failure);
    described.set_digest(packed_.digest);
    if (message.describe().whole()) described.set_machine(lies ? "lies" : packed_.bytes);
    described.set_cpus(cpus);
    for (const char* taken : {"1", "1-2"}) described.add_taken_cpus(taken);
    loop_.after(Duration::zero(), [this, answer] { receive_(answer); });
    return Status();
  }
  std::size_t backlog_bytes() const override { return 0; }
  void when_drained(std::function<void()>) override {}
  void set_reading(bool) override {}

  std::string cpus = "0-5,100";
  std::string failure;
  bool vanishes = false;
  bool lies = false;
  int brief = 0;  // questions
  int whole = 0;
  bool reserves = false;

 private:
  EventLoop& loop_;
  const PackedMachine packed_;
  Receive receive_;
  Closed closed_;
};

class MachineSurveyTest : public ::testing::Test {
 protected:
  void add_host(const std::string& name, bool is_other = false) {
    scripts_.push_back(std::make_unique<SurveyedAgent>(loop_, is_other));
    agents_.push_back({.channel = *scripts_.back(), .start = {}});
    agents_.back().start.set_host(name);
  }
  Result<SurveyedCluster> survey() { return survey_machines(loop_, agents_, true, faults_); }

  SystemClock clock_;
  EventLoop loop_{clock_};
  HostFaults faults_;
  std::vector<std::unique_ptr<SurveyedAgent>> scripts_;
  std::vector<HostAgent> agents_;
};

TEST_F(MachineSurveyTest, EachDistinctMachineComesOnce) {
  add_host("a");
  add_host("b", true);
  add_host("c");
  const auto found = survey();
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  ASSERT_EQ(found->cluster.machines.size(), 2u);
  ASSERT_EQ(found->cluster.hosts.size(), 3u);
  EXPECT_EQ(found->cluster.hosts[2].name, "c");
  EXPECT_EQ(found->cluster.hosts[0].machine, found->cluster.hosts[2].machine);
  EXPECT_NE(found->cluster.hosts[0].machine, found->cluster.hosts[1].machine);
  EXPECT_EQ(machine_of(found->cluster, 1).cores.size(), 7u);
  EXPECT_EQ(found->cluster.hosts[0].cpus.to_text(), "0-5") << "of which the machine has no 100";
  ASSERT_EQ(found->taken[0].size(), 2u);
  EXPECT_EQ(found->taken[0][1].to_text(), "1-2");
  EXPECT_EQ(scripts_[0]->whole + scripts_[2]->whole, 1);
  EXPECT_EQ(scripts_[1]->whole, 1);
  EXPECT_TRUE(scripts_[1]->reserves);
}

TEST_F(MachineSurveyTest, AHostAloneIsAskedOnce) {
  add_host("a");
  ASSERT_TRUE(survey().ok());
  EXPECT_EQ(scripts_[0]->whole, 1);
  EXPECT_EQ(scripts_[0]->brief, 0);
}

TEST_F(MachineSurveyTest, WhatAHostCannotSayIsToldWithItsName) {
  add_host("a");
  add_host("b");
  scripts_[1]->failure = "no /sys";
  const auto found = survey();
  EXPECT_EQ(found.status().code(), Code::kUnavailable);
  EXPECT_EQ(found.status().text(), "host b: no /sys");
}

TEST_F(MachineSurveyTest, NonsenseAndLostAgentsAreErrors) {
  add_host("a");
  scripts_[0]->lies = true;
  EXPECT_EQ(survey().status().text(),
            "host a: its agent's description of the machine cannot be decompressed");
  scripts_[0]->lies = false;
  scripts_[0]->cpus = "nonsense";
  EXPECT_EQ(survey().status().text(),
            "host a: the agent sent a malformed description of the machine");
  scripts_[0]->vanishes = true;
  EXPECT_EQ(survey().status().text(), "host a: the agent is gone");
  EXPECT_EQ(survey().status().code(), Code::kPeerLost);
}

}  // namespace
}  // namespace paceline::launcher
