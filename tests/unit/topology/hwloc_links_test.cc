// Matrices of bandwidths in hwloc's XML.
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/topology/hwloc_text.h"

namespace paceline::topology {
namespace {

// Three GPUs: objects 1 and 2 (two tiles of the second) and 3 in the second package, a switch 4.
std::string machine_with(const std::string& matrix) {
  const auto tile = [](std::string_view name, std::string_view index) {
    std::string attributes = "osdev_type=\"5\" name=\"";
    attributes.append(name).append("\" gp_index=\"").append(index).append("\"");
    return object("OSDev", attributes);
  };
  const std::string type = "0302 [10de:20b2] [0:0] a1";
  const std::string nvswitch =
      "<object type=\"PCIDev\" subtype=\"NVSwitch\" gp_index=\"5\" pci_busid=\"0000:09:00.0\" "
      "pci_type=\"0680 [10de:1af1]\"/>";
  return two_packages(
      "2.0", function_below_host("0000:01:00.0", type, tile("cuda0", "1")),
      function_below_host("0000:02:00.0", type, tile("cuda1", "2")) +
          function_below_host("0000:03:00.0", type, tile("cuda2", "3") + tile("nvml2", "4")) +
          nvswitch,
      matrix);
}

std::string matrix(std::string_view name, std::string_view count, std::string_view indexes,
                   std::string_view values, std::string_view kind = "25") {
  std::string text = "<distances2hetero nbobjs=\"";
  text.append(count).append("\" kind=\"").append(kind).append("\" name=\"").append(name);
  text.append("\">\n<indexes length=\"1\">").append(indexes).append("</indexes>\n<u64values>");
  return text.append(values).append("</u64values>\n</distances2hetero>\n");
}

HostModel host_with(const std::string& text) { return read_hwloc_text(machine_with(text)).value(); }

std::string text_of_links(const HostModel& host) {
  std::string text;
  for (const GpuLink& link : host.links) {
    text += std::to_string(link.gpu) + (link.end == LinkEnd::kGpu       ? "-gpu"
                                        : link.end == LinkEnd::kPackage ? "-package"
                                                                        : "-switch");
    if (link.end != LinkEnd::kSwitch) text += std::to_string(link.peer);
    text += ":" + std::to_string(link.mb_per_s.value.value_or(0)) + " ";
  }
  return text;
}

TEST(HwlocLinks, JoinGpusAndPackages) {
  const HostModel host = host_with(matrix("NVLinkBandwidth", "3", "OSDev:1 OSDev:2 Package:101 ",
                                          "1000000 40 0 40 1000000 20 0 20 1000000 "));
  EXPECT_EQ(text_of_links(host), "0-gpu1:40 1-package1:20 ");
  EXPECT_EQ(host.links[0].kind, LinkKind::kNvlink);
  EXPECT_EQ(host.links[0].count, 0);
  EXPECT_TRUE(host.warnings.empty());
}

TEST(HwlocLinks, MayBeOfOneTypeAndInManyPieces) {
  const HostModel host = host_with(R"(<distances2 type="OSDev" nbobjs="2" kind="9"
 name="XGMIBandwidth" indexing="gp"><indexes>3
1</indexes><u64values>9 50</u64values>
<u64values>50 9</u64values></distances2>)");
  EXPECT_EQ(text_of_links(host), "0-gpu2:50 ");
  EXPECT_EQ(host.links[0].kind, LinkKind::kXgmi);
}

TEST(HwlocLinks, OfPartsAddUp) {
  // Devices 3 and 4 belong to one GPU, so the connection between them is not a link of the GPU.
  const HostModel host = host_with(
      matrix("XeLinkBandwidth", "3", "OSDev:1 OSDev:3 OSDev:4", "0 10 20 10 0 99 20 99 0"));
  EXPECT_EQ(text_of_links(host), "0-gpu2:30 ");
}

TEST(HwlocLinks, ToSwitchesAreOneForEachGpu) {
  const HostModel host = host_with(
      matrix("NVLinkBandwidth", "3", "OSDev:1 OSDev:2 PCIDev:5", "0 0 300 0 0 300 300 300 0"));
  EXPECT_EQ(text_of_links(host), "0-switch:300 1-switch:300 ");
}

TEST(HwlocLinks, ThatDifferByDirectionAreAWarning) {
  const HostModel host =
      host_with(matrix("NVLinkBandwidth", "3", "OSDev:1 OSDev:2 OSDev:3", "0 9 8 7 0 0 0 0 0"));
  EXPECT_EQ(text_of_links(host), "0-gpu1:7 0-gpu2:8 ");
  ASSERT_EQ(host.warnings.size(), 1U);
  EXPECT_EQ(host.warnings[0].text,
            "NVLinkBandwidth of 2 links differ by direction; the smaller stated value is used");
}

TEST(HwlocLinks, AreNoHopsAndNoLatencies) {
  const HostModel hops = host_with(matrix("XGMIHops", "2", "OSDev:1 OSDev:2", "0 1 1 0", "21"));
  EXPECT_TRUE(hops.links.empty());
  EXPECT_TRUE(hops.warnings.empty());
  const HostModel latencies =
      host_with(matrix("NVLinkBandwidth", "2", "OSDev:1 OSDev:2", "0 1 1 0", "21"));
  EXPECT_TRUE(latencies.links.empty());
  ASSERT_EQ(latencies.warnings.size(), 1U);
  EXPECT_EQ(latencies.warnings[0].text,
            "NVLinkBandwidth is not a matrix of bandwidths by gp_index; ignored");
}

TEST(HwlocLinks, CountOnce) {
  const std::string once = matrix("NVLinkBandwidth", "2", "OSDev:1 OSDev:2", "0 4 4 0");
  const HostModel host = host_with(once + once);
  EXPECT_EQ(text_of_links(host), "0-gpu1:4 ");
  ASSERT_EQ(host.warnings.size(), 1U);
  EXPECT_EQ(host.warnings[0].text,
            "there is a second matrix NVLinkBandwidth; the first one is used");
}

TEST(HwlocLinks, ThatAreBrokenAreRefusedWithTheirLine) {
  // The matrix begins in line 40, with its indexes in the next.
  const auto refusal = [](std::string_view count, std::string_view indexes,
                          std::string_view values) {
    return read_hwloc_text(machine_with(matrix("NVLinkBandwidth", count, indexes, values)))
        .status()
        .text();
  };
  EXPECT_EQ(refusal("0", "", ""), "m.xml:40: a matrix of 0 objects");
  EXPECT_EQ(refusal("9999", "OSDev:1", "0"), "m.xml:40: a matrix of 9999 objects");
  EXPECT_EQ(refusal("two", "OSDev:1", "0"), "m.xml:40: nbobjs=\"two\" is not a number");
  EXPECT_EQ(refusal("2", "OSDev:1", "0"), "m.xml:40: a matrix of 2 objects has 1 indexes");
  EXPECT_EQ(refusal("1", "OSDev:1 OSDev:2", "0"), "m.xml:41: there are more indexes than nbobjs");
  EXPECT_EQ(refusal("1", "OSDev:77", "0"), "m.xml:41: no object has gp_index 77");
  EXPECT_EQ(refusal("1", "OSDev:x", "0"), "m.xml:41: \"OSDev:x\" is not a number");
  EXPECT_EQ(refusal("2", "OSDev:1 OSDev:2", "0 1 1"),
            "m.xml:40: a matrix of 2 objects has 3 values");
  EXPECT_EQ(refusal("1", "OSDev:1", "0.5"), "m.xml:42: \"0.5\" is not a number");
}

}  // namespace
}  // namespace paceline::topology
