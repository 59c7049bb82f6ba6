#include "launcher/head/rank_seats.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/head/job_start.h"
#include "tests/unit/topology/host_words.h"

namespace paceline::launcher {
namespace {

using topology::cpus;
using topology::finished_small_host;
using topology::Seat;

std::map<std::string, std::string> suggested(const messages::RankSeat& seat) {
  std::map<std::string, std::string> all;
  for (const messages::Variable& variable : seat.suggested())
    all[variable.name()] = variable.value();
  return all;
}

TEST(RankSeats, SayThreadsAndDevices) {
  const auto seats = seats_of_host(finished_small_host(),
                                   {{.gpu = 2, .nic = 1, .cpus = cpus("4-7"), .numa_nodes = {1}},
                                    {.gpu = 0, .nic = 0, .cpus = cpus("0-1"), .numa_nodes = {0}}});
  ASSERT_EQ(seats.size(), 2u);
  EXPECT_EQ(seats[0].cpus(), "4-7");
  ASSERT_EQ(seats[0].memory_nodes_size(), 1);
  EXPECT_EQ(seats[0].memory_nodes(0), 1u);
  EXPECT_EQ(suggested(seats[0]),
            (std::map<std::string, std::string>{{"OMP_NUM_THREADS", "4"},
                                                {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                                                {"CUDA_VISIBLE_DEVICES", "2,0,1"},
                                                {"NCCL_IB_HCA", "=mlx5_1:1,mlx5_0:1"},
                                                {"UCX_NET_DEVICES", "mlx5_1:1"}}));
  EXPECT_EQ(suggested(seats[1])["OMP_NUM_THREADS"], "2");
  EXPECT_EQ(suggested(seats[1])["CUDA_VISIBLE_DEVICES"], "2,0,1") << "the same on all ranks";
  EXPECT_EQ(suggested(seats[1])["UCX_NET_DEVICES"], "mlx5_0:1");
}

TEST(RankSeats, SayNothingOfGpusInTheirOwnOrder) {
  const auto seats =
      seats_of_host(finished_small_host(), {{.gpu = 0, .cpus = cpus("0")}, {.gpu = 1}});
  EXPECT_EQ(suggested(seats[0]), (std::map<std::string, std::string>{{"OMP_NUM_THREADS", "1"}}));
  EXPECT_EQ(suggested(seats[1]), (std::map<std::string, std::string>{}));
}

TEST(RankSeats, OfAmdAreOfHip) {
  topology::HostModel amd = finished_small_host();
  for (topology::Gpu& gpu : amd.gpus) gpu.pci.vendor = 0x1002;
  const auto seats = seats_of_host(amd, {{.gpu = 1}, {.gpu = 0}});
  EXPECT_EQ(suggested(seats[0]),
            (std::map<std::string, std::string>{{"HIP_VISIBLE_DEVICES", "1,0,2"}}));
}

TEST(RankSeats, RanksThatShareCoresShareTheirThreads) {
  const Seat shared{.cpus = cpus("0-3"), .shares_cpus = true};
  const auto seats = seats_of_host(finished_small_host(), {shared, shared, shared});
  EXPECT_EQ(suggested(seats[0])["OMP_NUM_THREADS"], "1");
}

// A channel that nobody uses.
class Unused final : public AgentChannel {
 public:
  void open(Receive, Closed) override {}
  Status send(const messages::ToAgent&) override { return Status(); }
  std::size_t backlog_bytes() const override { return 0; }
  void when_drained(std::function<void()>) override {}
  void set_reading(bool) override {}
};

class FollowPlan : public ::testing::Test {
 protected:
  FollowPlan() {
    JobSpec job;
    job.programs = {{.ranks = 4, .command = {"program"}}};
    for (const char* name : {"a", "b", "c"}) {
      messages::Start start = start_of(job);
      start.set_host(name);
      agents_.push_back({.channel = channel_, .start = std::move(start)});
      cluster_.hosts.push_back({.name = name});
    }
    cluster_.machines.push_back(finished_small_host());
    // Rank 0 on c, 1 and 3 on a, 2 on c; none on b.
    for (const int host : {2, 0, 2, 0}) plan_.ranks.push_back({.host = host, .seat = {}});
    plan_.ranks[3].seat.cpus = cpus("3");
  }
  std::string text() const {
    std::string all;
    for (const HostAgent& agent : agents_) {
      all += agent.start.host() + std::to_string(agent.start.host_index()) + ":";
      for (const std::uint32_t rank : agent.start.ranks()) all += " " + std::to_string(rank);
      for (const messages::RankSeat& seat : agent.start.seats()) all += " [" + seat.cpus() + "]";
      all += "; ";
    }
    return all;
  }

  Unused channel_;
  std::vector<HostAgent> agents_;
  topology::Cluster cluster_;
  topology::Plan plan_;
};

TEST_F(FollowPlan, GivesEachHostItsRanksTheFirstRanksHostFirst) {
  follow_plan(cluster_, plan_, agents_);
  EXPECT_EQ(text(), "c0: 0 2 [] []; a1: 1 3 [] [3]; ");
}

TEST_F(FollowPlan, WithoutMachinesNobodyHasASeat) {
  follow_plan({}, plan_, agents_);
  EXPECT_EQ(text(), "c0: 0 2; a1: 1 3; ");
}

}  // namespace
}  // namespace paceline::launcher
