#include "topology/model/pcie_link.h"

#include <gtest/gtest.h>

namespace paceline::topology {
namespace {

TEST(PcieLinks, CarryWhatTheirEncodingLeaves) {
  EXPECT_EQ(pcie_mb_per_s("2.5 GT/s", 1), 250U);
  EXPECT_EQ(pcie_mb_per_s("5 GT/s", 8), 4000U);
  EXPECT_EQ(pcie_mb_per_s("8 GT/s", 16), 15754U);
  EXPECT_EQ(pcie_mb_per_s("16.0 GT/s PCIe", 16), 31508U);
  EXPECT_EQ(pcie_mb_per_s("32", 4), 15754U);
  EXPECT_EQ(pcie_mb_per_s("64.0 GT/s PCIe", 16), 121000U);
}

TEST(PcieLinks, AreUnknownWhereTheirSpeedOrWidthIs) {
  for (const char* const speed :
       {"", "Unknown", "Unknown speed", "7 GT/s", ".5", "8x", "1.2.3", "88888888888888888888"})
    EXPECT_EQ(pcie_mb_per_s(speed, 16), std::nullopt) << speed;
  EXPECT_EQ(pcie_mb_per_s("8 GT/s", 0), std::nullopt);
  EXPECT_EQ(pcie_mb_per_s("8 GT/s", 255), std::nullopt);
}

TEST(PcieLinks, FollowFromABandwidth) {
  EXPECT_EQ(pcie_link_of(15754), (PcieLink{"8 GT/s", 16}));
  EXPECT_EQ(pcie_link_of(3938), (PcieLink{"8 GT/s", 4}));
  EXPECT_EQ(pcie_link_of(121000), (PcieLink{"64.0 GT/s PCIe", 16}));
  EXPECT_EQ(pcie_link_of(15800), std::nullopt) << "no link has it";
  EXPECT_EQ(pcie_link_of(249), std::nullopt);
}

}  // namespace
}  // namespace paceline::topology
