#include "topology/placement/host/seats.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "topology/model/finish.h"

namespace paceline::topology {
namespace {

std::string seats(const HostModel& host, const SeatRequest& request) {
  const auto all = seat_ranks(host, request);
  if (!all.ok()) return all.status().text();
  std::string text;
  for (const Seat& seat : *all) {
    if (seat.gpu != kNone) text += "gpu " + std::to_string(seat.gpu) + " ";
    if (seat.nic != kNone) text += "nic " + std::to_string(seat.nic) + " ";
    text += "cpus " + seat.cpus.to_text() + (seat.shares_cpus ? " shared" : "") + "; ";
  }
  return text;
}

TEST(Seats, HaveCpusAndNicNearTheirGpu) {
  EXPECT_EQ(seats(finished_small_host(), {.ranks = 3, .crosses_hosts = true}),
            "gpu 0 nic 0 cpus 0-1; gpu 1 nic 0 cpus 2-3; gpu 2 nic 1 cpus 4-7; ");
  EXPECT_EQ(seats(finished_small_host(), {.ranks = 1}), "gpu 0 cpus 0-3; ");
}

TEST(Seats, TakeGpusThatAreChosenAlready) {
  EXPECT_EQ(seats(finished_small_host(), {.ranks = 2, .crosses_hosts = true, .gpus = {2, 0}}),
            "gpu 2 nic 1 cpus 4-7; gpu 0 nic 0 cpus 0-3; ");
  EXPECT_EQ(seats(finished_small_host(), {.ranks = 2, .gpus = {1, 1}}),
            "gpu 1 cpus 0-1; gpu 1 cpus 2-3; ");
}

TEST(Seats, SaySoInASentence) {
  const auto all = seat_ranks(finished_small_host(), {.ranks = 3, .crosses_hosts = true}).value();
  EXPECT_EQ(all[0].why, "cuda0 is near NUMA node 0; mlx5_0 via PIX");
  EXPECT_EQ(all[2].why, "cuda2 is near NUMA node 1; mlx5_1 via NODE");
  EXPECT_EQ(all[2].numa_nodes, (std::vector<int>{1}));
}

TEST(Seats, SayWhichKindsOfCoresTheyHave) {
  HostModel host = finished_small_host();
  for (Core& core : host.cores) core.kind = known(std::string("IntelCore"));
  EXPECT_EQ(seat_ranks(host, {.ranks = 3}).value()[2].why, "cuda2 is near NUMA node 1");
  host.cores[7].kind = known(std::string("IntelAtom"));
  const auto all = seat_ranks(host, {.ranks = 3}).value();
  EXPECT_EQ(all[1].why, "cuda1 is near NUMA node 0; cores: 2 IntelCore");
  EXPECT_EQ(all[2].why, "cuda2 is near NUMA node 1; cores: 1 IntelAtom and 3 IntelCore");
}

TEST(Seats, WithoutGpusAreSpreadOverTheNodes) {
  HostModel host = small_host();
  host.gpus.clear();
  host.links.clear();
  host = finish(std::move(host), 0).value();
  EXPECT_EQ(seats(host, {.ranks = 2}), "cpus 0-3; cpus 4-7; ");
  EXPECT_EQ(seats(host, {.ranks = 3}), "cpus 0-1; cpus 2-3; cpus 4-7; ");
  EXPECT_EQ(seats(host, {.ranks = 4, .crosses_hosts = true}),
            "nic 0 cpus 0-1; nic 0 cpus 2-3; nic 1 cpus 4-5; nic 1 cpus 6-7; ");
  EXPECT_EQ(seats(host, {.ranks = 2, .cpus = CpuSet::parse("0-2,7").value()}), "cpus 0; cpus 1-2; ")
      << "three of four cores are on one node";
}

TEST(Seats, HaveSeveralNodesWhereThereAreFewerRanks) {
  HostModel host = small_host();
  host.gpus.clear();
  host.links.clear();
  host.nics.erase(host.nics.begin());
  host = finish(std::move(host), 0).value();
  const auto all = seat_ranks(host, {.ranks = 1, .crosses_hosts = true}).value();
  EXPECT_EQ(all[0].cpus.to_text(), "0-7");
  EXPECT_EQ(all[0].why, "a share of NUMA node 0 and 1; mlx5_1 via PHB");
}

TEST(Seats, ShareGpusInBlocksAndCoresWhereThereAreMoreRanks) {
  EXPECT_EQ(seats(finished_small_host(), {.ranks = 6}),
            "gpu 0 cpus 0; gpu 0 cpus 1; gpu 1 cpus 2; gpu 1 cpus 3; gpu 2 cpus 4-5; "
            "gpu 2 cpus 6-7; ");
  HostModel host = small_host();
  host.gpus.clear();
  host.links.clear();
  const std::string text = seats(finish(std::move(host), 0).value(), {.ranks = 10});
  EXPECT_EQ(text.find("cpus 0-3 shared; "), 0U) << text;
}

TEST(Seats, ElsewhereThanTheirGpuSaySo) {
  const auto all =
      seat_ranks(finished_small_host(), {.ranks = 1, .cpus = CpuSet::parse("4-7").value()}).value();
  EXPECT_EQ(all[0].cpus.to_text(), "4-7");
  EXPECT_EQ(all[0].why, "cuda0 has too few usable CPUs nearby; CPUs of NUMA node 1");
}

TEST(Seats, AreRefusedWhereThereIsNoCpuOrAreNotEnough) {
  EXPECT_EQ(seats(finished_small_host(), {.ranks = 3, .cores_each = 3}),
            "9 cores are needed, but the host has 8");
  EXPECT_EQ(seats(finished_small_host(), {.cpus = CpuSet::parse("100").value()}),
            "no usable CPU is known");
}

TEST(Seats, AreNotBoundWhereNoCpuIsKnown) {
  HostModel host = small_host();
  host.numa_nodes.clear();
  host.packages.clear();
  host.cores.clear();
  for (Bridge& bridge : host.bridges) bridge.near = {};
  const HostModel unknown = finish(std::move(host), 0).value();
  const auto all =
      seat_ranks(unknown, {.ranks = 3, .cores_each = 2, .crosses_hosts = true}).value();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[2].gpu, 2);
  EXPECT_EQ(all[2].nic, 1);
  EXPECT_TRUE(all[2].cpus.is_empty());
  EXPECT_EQ(all[2].why, "not bound, because no CPU is known");
}

}  // namespace
}  // namespace paceline::topology
