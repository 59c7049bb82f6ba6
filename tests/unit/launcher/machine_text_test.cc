#include "launcher/channel/machine_text.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"

namespace paceline::launcher {
namespace {

using topology::finished_small_host;

TEST(MachineText, ComesBackAsItWas) {
  const auto back = unpack_machine("host a", pack_machine(finished_small_host()).bytes);
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  topology::HostModel expected = finished_small_host();
  for (topology::NumaNode& node : expected.numa_nodes) node.memory_bytes = 1 << 28;
  EXPECT_TRUE(same_machine(*back, expected));
  EXPECT_EQ(back->gpus.size(), 3u);
}

TEST(MachineText, OfMachinesOfOneMakeIsTheSame) {
  topology::HostModel one = finished_small_host(), other = finished_small_host();
  one.name = "a";
  one.gpus[0].uuid = topology::known(std::string("GPU-1"));
  one.nics[0].guid = topology::known(std::string("0011:2233"));
  one.numa_nodes[0].memory_bytes = std::uint64_t{64} << 30;
  other.numa_nodes[0].memory_bytes = (std::uint64_t{64} << 30) - (40 << 20);
  EXPECT_EQ(pack_machine(one).digest, pack_machine(other).digest);
  other.cores.pop_back();
  EXPECT_NE(pack_machine(one).digest, pack_machine(other).digest);
}

TEST(MachineText, WhatCannotBeUnpackedIsRefused) {
  const std::string good = pack_machine(finished_small_host()).bytes;
  for (const std::string& bad : {std::string(), std::string("x"), good.substr(0, good.size() / 2)})
    EXPECT_EQ(unpack_machine("host a", bad).status().text(),
              "host a: its agent's description of the machine cannot be decompressed");
}

}  // namespace
}  // namespace paceline::launcher
