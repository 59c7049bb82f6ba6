#include "launcher/agent/rank_environment.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

messages::Start start_of_four() {
  messages::Start start;
  start.set_job_id("job");
  start.set_host("node1");
  start.set_host_index(1);
  start.set_world_size(8);
  start.set_epoch(2);
  start.set_max_epoch(5);
  for (const std::uint32_t rank : {1u, 5u, 6u, 7u}) start.add_ranks(rank);
  return start;
}

HostFacts facts(int allowed_cpus = 10) {
  HostFacts facts{.allowed_cpus = allowed_cpus, .meeting = {}};
  facts.meeting.set_store("unix:@s");
  facts.meeting.set_master_address("127.0.0.1");
  facts.meeting.set_master_port(4000);
  return facts;
}

std::vector<std::string> as_text(const Variables& variables) {
  return merge_environment({}, variables);
}

bool has(const std::vector<std::string>& environment, const std::string& assignment) {
  return std::find(environment.begin(), environment.end(), assignment) != environment.end();
}

TEST(RankEnvironment, Identity) {
  const auto environment = as_text(identity_variables(start_of_four(), facts(), 2));
  for (const char* expected :
       {"RANK=6", "PACELINE_LAUNCHED_AS=6/8", "LOCAL_RANK=2", "WORLD_SIZE=8", "LOCAL_WORLD_SIZE=4",
        "GROUP_RANK=1", "OMPI_COMM_WORLD_RANK=6", "OMPI_COMM_WORLD_SIZE=8",
        "OMPI_COMM_WORLD_LOCAL_RANK=2", "OMPI_COMM_WORLD_LOCAL_SIZE=4",
        "OMPI_COMM_WORLD_NODE_RANK=2", "PACELINE_STORE=unix:@s", "PACELINE_JOB_ID=job",
        "PACELINE_HOST=node1", "PACELINE_TERMINAL=0", "PACELINE_ABLATE=",
        "TORCHELASTIC_RESTART_COUNT=2", "TORCHELASTIC_MAX_RESTARTS=5", "TORCHELASTIC_RUN_ID=job"})
    EXPECT_TRUE(has(environment, expected)) << expected;
}

TEST(RankEnvironment, RanksKnowTheCpusOfAllOnTheirHost) {
  messages::Start start = start_of_four();
  const auto told = [&] { return as_text(identity_variables(start, facts(), 1)); };
  EXPECT_TRUE(has(told(), "PACELINE_HOST_CPUS=")) << "nobody is bound";
  for (const char* cpus : {"0-1", "2", "2-3", "5"}) start.add_seats()->set_cpus(cpus);
  EXPECT_TRUE(has(told(), "PACELINE_HOST_CPUS=0-3,5"));
  start.mutable_seats(2)->clear_cpus();
  EXPECT_TRUE(has(told(), "PACELINE_HOST_CPUS=")) << "one of them is not bound";
}

TEST(RankEnvironment, WhatSeatsSuggestHoldsUnlessItIsSet) {
  Variables suggested, changes;
  for (const char* name : {"OMP_NUM_THREADS", "NCCL_IB_HCA", "UCX_NET_DEVICES"}) {
    suggested.Add()->set_name(name);
    suggested.rbegin()->set_value("seat");
  }
  changes.Add()->set_name("NCCL_IB_HCA");
  const auto left = as_text(unless_set(suggested, changes, [](const char* name) {
    return std::string_view(name) == "UCX_NET_DEVICES" ? "inherited" : nullptr;
  }));
  EXPECT_EQ(left, (std::vector<std::string>{"OMP_NUM_THREADS=seat"}));
}

TEST(RankEnvironment, SuggestsTheInterfaceToOthersUnlessTheUserSaidWhich) {
  messages::Start start = start_of_four();
  start.set_address("10.0.0.2");
  start.set_interface("eth1");
  const auto suggested = [&](std::string_view set) {
    return as_text(suggested_variables(start, facts(), [&](auto name) { return name == set; }));
  };
  EXPECT_TRUE(has(suggested(""), "NCCL_SOCKET_IFNAME==eth1"));
  EXPECT_TRUE(has(suggested(""), "GLOO_SOCKET_IFNAME=eth1"));
  EXPECT_FALSE(has(suggested("NCCL_SOCKET_IFNAME"), "NCCL_SOCKET_IFNAME==eth1"));
  EXPECT_FALSE(has(suggested("GLOO_SOCKET_IFNAME"), "GLOO_SOCKET_IFNAME=eth1"));
}

TEST(RankEnvironment, SuggestsThreadsUnlessTheUserSaidHowMany) {
  const auto nothing = [](std::string_view) { return false; };
  EXPECT_TRUE(
      has(as_text(suggested_variables(start_of_four(), facts(), nothing)), "OMP_NUM_THREADS=2"));
  EXPECT_TRUE(
      has(as_text(suggested_variables(start_of_four(), facts(3), nothing)), "OMP_NUM_THREADS=1"));
  const auto threads = [](std::string_view name) { return name == "OMP_NUM_THREADS"; };
  const auto left = as_text(suggested_variables(start_of_four(), facts(), threads));
  EXPECT_EQ(left, (std::vector<std::string>{"MASTER_ADDR=127.0.0.1", "MASTER_PORT=4000"}));
}

TEST(RankEnvironment, OfOneHostAmongOthersAcceptsThemAtItsAddress) {
  messages::Start start = start_of_four();
  start.set_address("10.0.0.2");
  const auto nothing = [](std::string_view) { return false; };
  EXPECT_TRUE(
      has(as_text(suggested_variables(start, facts(), nothing)), "PACELINE_BIND_ADDRESS=10.0.0.2"));
}

Variables some_changes() {
  Variables changes;
  for (const auto& [name, value] : {std::pair{"B", "2"}, {"NEW", ""}, {"B", "3=4"}}) {
    messages::Variable& variable = *changes.Add();
    variable.set_name(name);
    variable.set_value(value);
  }
  return changes;
}

TEST(RankEnvironment, MergingKeepsEachNameOnce) {
  EXPECT_EQ(merge_environment({"A=1", "B=1", "BB=1"}, some_changes()),
            (std::vector<std::string>{"A=1", "B=3=4", "BB=1", "NEW="}));
}

TEST(RankEnvironment, OneValueIsFoundAsMergingWouldLeaveIt) {
  const Variables changes = some_changes();
  const auto base = [](const char* name) {
    return name[0] == 'X' ? nullptr : static_cast<const char*>("1");
  };
  EXPECT_STREQ(value_of("A", changes, base), "1");
  EXPECT_STREQ(value_of("B", changes, base), "3=4");
  EXPECT_STREQ(value_of("BB", changes, base), "1");
  EXPECT_STREQ(value_of("NEW", changes, base), "");
  EXPECT_EQ(value_of("X", changes, base), nullptr);
}

}  // namespace
}  // namespace paceline::launcher
