#include "topology/render/seats_text.h"

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "topology/model/finish.h"

namespace paceline::topology {
namespace {

TEST(SeatsText, IsATableWithAReasonInEachLine) {
  const HostModel host = finished_small_host();
  const auto seats = seat_ranks(host, {.ranks = 3, .crosses_hosts = true}).value();
  EXPECT_EQ(seats_text(host, seats),
            "rank  GPU    NIC     CPUs  memory  why\n"
            "   0  cuda0  mlx5_0  0-1   0       cuda0 is near NUMA node 0; mlx5_0 via PIX\n"
            "   1  cuda1  mlx5_0  2-3   0       cuda1 is near NUMA node 0; mlx5_0 via PIX\n"
            "   2  cuda2  mlx5_1  4-7   1       cuda2 is near NUMA node 1; mlx5_1 via NODE\n");
}

TEST(SeatsText, HasADashForWhatThereIsNot) {
  HostModel host = small_host();
  host.gpus.clear();
  host.links.clear();
  host = finish(std::move(host), 0).value();
  EXPECT_EQ(seats_text(host, seat_ranks(host, {.ranks = 1}).value()),
            "rank  GPU  NIC  CPUs  memory  why\n"
            "   0  -    -    0-7   0,1     a share of NUMA node 0 and 1\n");
}

TEST(SeatsText, WhatIsTooLongForALineGoesOnInTheNext) {
  HostModel host = small_host();
  host.nics[0].name = "a_nic_of_a_name_without_end";
  const Seat seat{.nic = 0,
                  .cpus = CpuSet::parse("0,2,4,6,8,10,12,14,16,18,20,22").value(),
                  .numa_nodes = {0, 1, 2, 3, 4}};
  const std::string why =
      "it is near them, and so many words are needed to say so that they do "
      "not stand in one line";
  EXPECT_EQ(seat_lines_text(host, {{"server", &seat, why}}, 100),
            R"(  rank  GPU  NIC               CPUs                    memory    why
server  -    a_nic_of_a_name…  0,2,4,6,8,10,12,14,16,  0,1,2,3,  it is near them, and so many words
                               18,20,22                4         are needed to say so that they do
                                                                 not stand in one line
)");
}

TEST(SeatsText, IsJsonForPrograms) {
  const HostModel host = finished_small_host();
  auto seats = seat_ranks(host, {.ranks = 1}).value();
  seats[0].why = "so";
  EXPECT_EQ(seats_json_text(host, seats), R"({
  "version": 1,
  "placements": [
    {
      "rank": 0,
      "gpu": "cuda0",
      "nic": null,
      "cpus": "0-3",
      "numa_nodes": [
        0
      ],
      "shares_cpus": false,
      "why": "so"
    }
  ]
}
)");
}

}  // namespace
}  // namespace paceline::topology
