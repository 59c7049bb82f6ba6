#include "launcher/head/binding_report.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using Lines = std::vector<std::string>;

// Host a has ranks 0 and 2, each with a CPU and node 0.
messages::Start host_a() {
  messages::Start host;
  host.set_host("a");
  for (const std::uint32_t rank : {0u, 2u}) {
    host.add_ranks(rank);
    messages::RankSeat& seat = *host.add_seats();
    seat.set_cpus(std::to_string(rank));
    seat.add_memory_nodes(0);
  }
  return host;
}

messages::RankStarted started(std::uint32_t rank, const std::string& cpus,
                              const std::string& memory = "prefer (many):0") {
  messages::RankStarted message;
  message.set_rank(rank);
  message.set_cpus(cpus);
  message.set_memory(memory);
  return message;
}

class BindingReportTest : public ::testing::Test {
 protected:
  BindingReport report(bool says_all, int ranks = 3) {
    return BindingReport(ranks,
                         {.says_all = says_all,
                          .devices = {"GPU cuda0, NIC mlx5_0", "", ""},
                          .say = [this](const std::string& text) { said_.push_back(text); }});
  }

  Lines said_;
};

TEST_F(BindingReportTest, SaysWhatIsInTheOrderOfTheRanks) {
  messages::Start other;
  other.set_host("b");
  other.add_ranks(1);
  other.add_seats();
  BindingReport all = report(true);
  all.started(host_a(), started(2, "2"));
  all.started(other, started(1, "0-3", "default"));
  EXPECT_EQ(said_, Lines());
  all.started(host_a(), started(0, "0"));
  EXPECT_EQ(said_,
            (Lines{"rank 0 on host a: CPU 0, prefers memory of NUMA node 0, GPU cuda0, NIC mlx5_0",
                   "rank 1 on host b: not bound: CPUs 0-3",
                   "rank 2 on host a: CPU 2, prefers memory of NUMA node 0"}));
}

TEST_F(BindingReportTest, WarnsOnceForAHostWhereSomethingIsNotAsPlanned) {
  BindingReport warnings = report(false);
  warnings.started(host_a(), started(0, "0-1"));
  warnings.started(host_a(), started(2, "0-1"));
  EXPECT_EQ(said_, (Lines{"warning: rank 0 on host a runs on CPUs 0-1 instead of 0: a cpuset, a "
                          "container or a batch system prevents the planned binding"}));
}

TEST_F(BindingReportTest, WarnsOfMemoryToo) {
  BindingReport warnings = report(false);
  warnings.started(host_a(), started(0, "0", "default"));
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_EQ(said_[0],
            "warning: rank 0 on host a has the memory policy 'default' instead of a preference for "
            "NUMA node 0: a cpuset, a container or a batch system prevents the planned binding");
}

TEST_F(BindingReportTest, ARankThatHasEndedIsBoundToNothing) {
  BindingReport all = report(true, 1);
  all.started(host_a(), started(0, "", ""));
  EXPECT_EQ(
      said_,
      (Lines{"rank 0 on host a: ended before its binding could be read, GPU cuda0, NIC mlx5_0"}));
}

TEST_F(BindingReportTest, WithoutSeatsThereIsNothingToSay) {
  messages::Start host = host_a();
  host.clear_seats();
  BindingReport all = report(true);
  all.started(host, started(0, "0"));
  EXPECT_EQ(said_, Lines());
}

}  // namespace
}  // namespace paceline::launcher
