#include "launcher/head/binding_report.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using Lines = std::vector<std::string>;

// Host a has ranks 0 and 2, each with a CPU and node 0.
BindingReport::Host host_a() {
  BindingReport::Host host{.name = "a", .ranks = {0, 2}, .seats = {}};
  for (const std::uint32_t rank : host.ranks) {
    messages::RankSeat& seat = host.seats.emplace_back();
    seat.set_cpus(std::to_string(rank));
    seat.add_memory_nodes(0);
  }
  return host;
}

// Host b has rank 1, which is bound to nothing.
BindingReport::Host host_b() { return {.name = "b", .ranks = {1}, .seats = {{}}}; }

class BindingReportTest : public ::testing::Test {
 protected:
  void report(bool says_all, std::vector<BindingReport::Host> hosts = {host_a(), host_b()}) {
    report_.emplace(BindingReport::Options{
        .says_all = says_all, .say = [this](const std::string& text) { said_.push_back(text); }});
    report_->take_hosts(std::move(hosts), {"GPU cuda0, NIC mlx5_0", "", ""});
  }
  void started(std::size_t host, std::uint32_t rank, const std::string& cpus,
               const std::string& memory = "prefer (many):0") {
    AgentSaid said{.host = host, .message = {}};
    messages::RankStarted& message = *said.message.mutable_started();
    message.set_rank(rank);
    message.set_cpus(cpus);
    message.set_memory(memory);
    report_->saw(TimePoint(), said, {});
  }

  std::optional<BindingReport> report_;
  Lines said_;
};

TEST_F(BindingReportTest, SaysWhatIsInTheOrderOfTheRanks) {
  report(true);
  started(0, 2, "2");
  started(1, 1, "0-3", "default");
  EXPECT_EQ(said_, Lines());
  started(0, 0, "0");
  EXPECT_EQ(said_,
            (Lines{"rank 0 on host a: CPU 0, prefers memory of NUMA node 0, GPU cuda0, NIC mlx5_0",
                   "rank 1 on host b: not bound: CPUs 0-3",
                   "rank 2 on host a: CPU 2, prefers memory of NUMA node 0"}));
}

TEST_F(BindingReportTest, WarnsOnceForAHostWhereSomethingIsNotAsPlanned) {
  report(false);
  started(0, 0, "0-1");
  started(0, 2, "0-1");
  EXPECT_EQ(said_, (Lines{"warning: rank 0 on host a runs on CPUs 0-1 instead of 0: a cpuset, a "
                          "container or a batch system prevents the planned binding"}));
}

TEST_F(BindingReportTest, WarnsOfMemoryToo) {
  report(false);
  started(0, 0, "0", "default");
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_EQ(said_[0],
            "warning: rank 0 on host a has the memory policy 'default' instead of a preference for "
            "NUMA node 0: a cpuset, a container or a batch system prevents the planned binding");
}

TEST_F(BindingReportTest, ARankThatHasEndedIsBoundToNothing) {
  report(true, {{.name = "a", .ranks = {0}, .seats = host_a().seats}});
  started(0, 0, "", "");
  EXPECT_EQ(
      said_,
      (Lines{"rank 0 on host a: ended before its binding could be read, GPU cuda0, NIC mlx5_0"}));
}

TEST_F(BindingReportTest, WithoutSeatsThereIsNothingToSay) {
  report(true, {{.name = "a", .ranks = {0}, .seats = {}}});
  started(0, 0, "0");
  EXPECT_EQ(said_, Lines());
}

}  // namespace
}  // namespace paceline::launcher
