#include "topology/read/hwloc_mask.h"

#include <string>

#include <gtest/gtest.h>

namespace paceline::topology {
namespace {

std::string cpus_of(std::string_view text) {
  const auto mask = parse_hwloc_mask(text);
  return mask ? mask->set.to_text() : "none";
}

TEST(HwlocMasks, AreWordsOfWhichTheHighestComesFirst) {
  EXPECT_EQ(cpus_of("0x0"), "");
  EXPECT_EQ(cpus_of("0x0000000f"), "0-3");
  EXPECT_EQ(cpus_of("0x00000001,0x80000000"), "31-32");
  EXPECT_EQ(cpus_of("0x1,,0x3"), "0-1,64");
  EXPECT_EQ(cpus_of("0x1,,0x0"), "64");
}

TEST(HwlocMasks, WithoutAnEndAreBoundedByTheMachine) {
  const auto all = CpuSet::parse("0-39").value();
  const auto mask = parse_hwloc_mask("0xf...f,0x00000001");
  ASSERT_TRUE(mask);
  EXPECT_TRUE(mask->is_endless);
  EXPECT_EQ(mask->within(all).to_text(), "0,32-39");
  EXPECT_EQ(parse_hwloc_mask("0xf...f")->within(all).to_text(), "0-39");
}

TEST(HwlocMasks, ThatAreNoneAreRefused) {
  for (const char* const text : {"", "x", "0x", "0xg", "0x1 ", "0x1ffffffff", "0-3", "-1",
                                 "0x1;0x2", "0xf...f0x1", "0x1,0xf...f"})
    EXPECT_FALSE(parse_hwloc_mask(text)) << text;
}

TEST(HwlocMasks, AreOfNoMoreCpusThanASetHas) {
  const std::string commas(CpuSet::kMostCpus / 32 - 1, ',');
  EXPECT_EQ(cpus_of("0x80000000" + commas), "65535");
  EXPECT_FALSE(parse_hwloc_mask("0x0," + commas));
}

}  // namespace
}  // namespace paceline::topology
