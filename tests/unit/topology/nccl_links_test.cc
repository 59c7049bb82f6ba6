#include "topology/read/nccl_links.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "tests/unit/topology/nccl_text.h"
#include "topology/path/path.h"

namespace paceline::topology {
namespace {

TEST(NcclLinks, CountsLinksOfBothEndsOnce) {
  const HostModel host =
      read_xml(
          one_cpu(numbered_gpu("01:00.0", 0, link("0000:02:00.0", 4)) +
                  numbered_gpu("02:00.0", 1, link("00000000:01:00.0", 4) + link("03:00.0", 2)) +
                  numbered_gpu("03:00.0", 2, link("02:00.0", 1))))
          .value();
  ASSERT_EQ(host.links.size(), 2U);
  EXPECT_EQ(host.links[0].count, 4);
  EXPECT_EQ(host.links[1].count, 1);
  EXPECT_EQ(warnings_of(host),
            "GPU1 has 2 links to GPU2, and 1 in the other direction; 1 is used\n");
}

TEST(NcclLinks, WarnsOfLinksToNoOtherGpu) {
  const HostModel host = read_xml(one_cpu(numbered_gpu("01:00.0", 0,
                                                       link("01:00.0", 12) + link("09:00.0", 1) +
                                                           link("fffffff:ffff:ff", 2, "0x068001"))))
                             .value();
  EXPECT_TRUE(host.links.empty());
  EXPECT_EQ(warnings_of(host),
            "GPU0 has 12 links to itself; ignored\n"
            "GPU0 has 1 link to 09:00.0, which is not a GPU of this file; ignored\n"
            "GPU0 has 2 links to a CPU, but its package is not known; ignored\n");
}

TEST(NcclLinks, AddsUpLinksToSwitches) {
  const HostModel host =
      read_xml(
          one_cpu(numbered_gpu("01:00.0", 0,
                               link("0:c1:00.0", 2, "0x068000") + link("c2:00.0", 4, "0x068000")) +
                  numbered_gpu("02:00.0", 1, "<nvlink target=\"fffffff:ffff:ff\" count=\"8\"/>")))
          .value();
  ASSERT_EQ(host.links.size(), 2U);
  EXPECT_EQ(host.links[0].end, LinkEnd::kSwitch);
  EXPECT_EQ(host.links[0].count, 6);
  EXPECT_EQ(path_between(host, gpu(0), gpu(1)).links, 6);
}

TEST(NcclLinks, PlacesLinksToTheCpuWhereNodesArePackages) {
  const HostModel power = read_xml(R"(<system version="1"><cpu numaid="8" affinity="f" arch="ppc64">
    <pci busid="01:00.0" class="0x030200"><gpu dev="0">
      <nvlink target="0004:00:01.1" count="3" tclass="0x068001"/></gpu></pci></cpu></system>)")
                              .value();
  ASSERT_EQ(power.packages.size(), 1U);
  EXPECT_EQ(power.packages[0].number, 8);
  ASSERT_EQ(power.links.size(), 1U);
  EXPECT_EQ(power.links[0].end, LinkEnd::kPackage);
  EXPECT_EQ(power.links[0].count, 3);

  const HostModel grace = read_xml(R"(<system version="1"><cpu numaid="0" affinity="f" arch="arm64">
    <pci busid="01:00.0" class="0x030200"><gpu dev="0"><c2c bw="44712" count="10"/></gpu></pci>
    </cpu></system>)")
                              .value();
  ASSERT_EQ(grace.links.size(), 1U);
  EXPECT_EQ(*grace.links[0].mb_per_s, 447120U);
}

TEST(NcclLinks, ReadsXgmi) {
  const HostModel host =
      read_xml(one_cpu(numbered_gpu("01:00.0", 0, R"(<xgmi target="02:00.0" tclass="0x038000"/>)") +
                       numbered_gpu("02:00.0", 1, R"(<xgmi target="01:00.0" tclass="0x038000"/>)")))
          .value();
  ASSERT_EQ(host.links.size(), 1U);
  EXPECT_EQ(host.links[0].kind, LinkKind::kXgmi);
  EXPECT_EQ(host.links[0].count, 1);
}

}  // namespace
}  // namespace paceline::topology
