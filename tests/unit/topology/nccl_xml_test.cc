#include "topology/read/nccl_xml.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "tests/unit/topology/nccl_text.h"
#include "topology/path/path.h"

namespace paceline::topology {
namespace {

constexpr DeviceRef gpu_at(int place) { return {DeviceKind::kGpu, place}; }
constexpr DeviceRef nic_at(int place) { return {DeviceKind::kNic, place}; }

TEST(NcclXml, IsReadWithItsSwitchesAsTheyAreNested) {
  const HostModel host = read_xml(R"(<!-- a machine -->
<system version="2">
  <cpu numaid="1" affinity="000000f0" arch="arm64" vendor="?">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="8 GT/s" link_width="16">
      <pci busid="0000:02:00.0" class="0x060400" link_speed="" link_width="0">
        <pci busid="0000:03:00.0" class="0x038000" vendor="0x1002" device="0x740f"
             link_speed="16.0 GT/s PCIe" link_width="16">
          <gpu dev="0" sm="90" rank="0" gdr="1"/>
        </pci>
      </pci>
      <pci busid="0000:04:00.0" class="0x020700" vendor="0x15b3" device="0x101b">
        <nic>
          <net name="mlx5_0" dev="0" speed="100000" port="1" guid="0x0a00004b00020018"/>
          <net name="mlx5_0" dev="1" speed="200000" port="2" guid="0x0a00004b00020018"/>
        </nic>
      </pci>
    </pci>
    <something><new/></something>
  </cpu>
  <cpu numaid="0" affinity="0000000f"/>
</system>)")
                             .value();
  EXPECT_EQ(warnings_of(host), "");
  EXPECT_EQ(host.sources, std::vector<std::string>{"RCCL XML t.xml"});
  EXPECT_EQ(host.architecture, "aarch64");
  EXPECT_EQ(host.cpus.to_text(), "0-7");
  EXPECT_TRUE(host.packages.empty());
  ASSERT_EQ(host.numa_nodes.size(), 2U);
  EXPECT_EQ(host.numa_nodes[1].cpus.to_text(), "4-7");
  ASSERT_EQ(host.bridges.size(), 3U) << "the host bridge without devices leads to nothing";
  EXPECT_EQ(host.bridges[0].near->numa_nodes, std::vector<int>{1});
  EXPECT_EQ(*host.bridges[1].mb_per_s, 15754U);
  EXPECT_FALSE(host.bridges[2].mb_per_s.is_known());
  ASSERT_EQ(host.gpus.size(), 1U);
  EXPECT_EQ(host.gpus[0].name, "GPU0");
  EXPECT_EQ(to_text(*host.gpus[0].pci.bus), "0000:03:00.0");
  EXPECT_EQ(host.gpus[0].pci.device, 0x740f);
  EXPECT_EQ(*host.gpus[0].pci.mb_per_s, 31508U);
  EXPECT_EQ(host.gpus[0].near->cpus.to_text(), "4-7");
  ASSERT_EQ(host.nics.size(), 1U);
  EXPECT_EQ(host.nics[0].name, "mlx5_0");
  EXPECT_TRUE(host.nics[0].has_rdma);
  EXPECT_EQ(*host.nics[0].rate_mbit, 200000U) << "of the faster port";
  EXPECT_EQ(host.nics[0].port, 2);
  EXPECT_EQ(*host.nics[0].guid, "1800:0200:4b00:000a");
  EXPECT_EQ(path_between(host, gpu_at(0), nic_at(0)).kind, PathKind::kPxb);
}

TEST(NcclXml, TellsDevicesByTheirClass) {
  const HostModel host = read_xml(one_cpu(R"(<pci busid="01:00.0" class="0x03"/>
    <pci busid="02:00.0" class="0x120000"/>
    <pci busid="03:00.0" class="0x030000" vendor="0x10de"/>
    <pci busid="04:00.0" class="0x030000" vendor="0x1a03"/>
    <pci busid="05:00.0" class="0x030200" vendor="0x102b"/>
    <pci busid="06:00.0" class="0x060400"/>
    <pci busid="07:00.0" class="0x010802"/>
    <pci busid="08:00.0" class="0x020000" vendor="0xffff" device="0xffff"/>
    <pci busid="09:00.0" class="0x020000" vendor="0x1d0f" device="0xefa1"/>
    <pci busid="0a:00.0"><nic><net name="ens5" speed="-1"/></nic></pci>)"))
                             .value();
  ASSERT_EQ(host.gpus.size(), 3U);
  ASSERT_EQ(host.nics.size(), 3U);
  EXPECT_EQ(host.nics[0].name, "0000:08:00.0") << "nothing else is known";
  EXPECT_EQ(host.nics[0].pci.vendor, 0) << "0xffff is nobody";
  EXPECT_EQ(host.nics[1].kind, NicKind::kEfa);
  EXPECT_EQ(host.nics[2].kind, NicKind::kEthernet);
  EXPECT_FALSE(host.nics[2].has_rdma);
  EXPECT_EQ(host.nics[2].interfaces, std::vector<std::string>{"ens5"});
  EXPECT_FALSE(host.nics[2].rate_mbit.is_known()) << "a speed of -1";
}

TEST(NcclXml, TakesEachNetWithoutPciForANicOfItsOwn) {
  const HostModel host =
      read_xml(one_cpu(gpu_xml("01:00.0") +
                       R"(<nic><net name="eth0" speed="25000"/><net name="eth1"/></nic>)"))
          .value();
  ASSERT_EQ(host.nics.size(), 2U);
  EXPECT_EQ(*host.nics[0].rate_mbit, 25000U);
  EXPECT_FALSE(host.nics[0].pci.bus.is_known());
  EXPECT_EQ(path_between(host, gpu_at(0), nic_at(1)).kind, PathKind::kPhb);
}

TEST(NcclXml, SaysWhatMustBeCompletedOnTheMachine) {
  const HostModel host = read_xml(
                             "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"00:16.0\"/>"
                             "<pci busid=\"00:17.0\"/></cpu></system>")
                             .value();
  EXPECT_EQ(host.numa_nodes.size(), 1U);
  EXPECT_TRUE(host.gpus.empty());
  EXPECT_EQ(warnings_of(host),
            "0000:00:16.0 and 0000:00:17.0 have an address but no class; the kind of device is "
            "known only on the machine itself\n");
}

TEST(NcclXml, CountsGpusByDevOrElseByAddress) {
  const HostModel by_address = read_xml(one_cpu(gpu_xml("02:00.0") + gpu_xml("01:00.0"))).value();
  EXPECT_EQ(by_address.gpus[0].pci.bus->bus, 1);
  const HostModel by_dev =
      read_xml(one_cpu(numbered_gpu("01:00.0", 1) + numbered_gpu("02:00.0", 0))).value();
  EXPECT_EQ(by_dev.gpus[0].pci.bus->bus, 2);
  EXPECT_EQ(warnings_of(by_dev), "");
}

TEST(NcclXml, WarnsOfNumbersThatLeaveSomeOutOrComeTwice) {
  const HostModel odd = read_xml(one_cpu(numbered_gpu("03:00.0", 5) + numbered_gpu("02:00.0", 5) +
                                         numbered_gpu("01:00.0", 7) + gpu_xml("00:01.0")))
                            .value();
  EXPECT_EQ(odd.gpus[0].pci.bus->bus, 2);
  EXPECT_EQ(odd.gpus[3].pci.bus->bus, 0);
  EXPECT_EQ(warnings_of(odd),
            "GPUs are numbered 5, 5 and 7; they are renumbered in this order\n"
            "1 of 4 GPUs have no number; they come last\n");
}

TEST(NcclXml, WarnsOfMasksThatHaveLostDigits) {
  const HostModel host = read_xml(R"(<system version="1">
    <cpu numaid="0" affinity="ffff0000,00000000"/><cpu numaid="1" affinity="00000000,ffff0000"/>
    <cpu numaid="7" affinity="fff0000,00000000"/><cpu numaid="2" affinity="00000000,000ffff"/>
    </system>)")
                             .value();
  EXPECT_EQ(warnings_of(host).substr(0, warnings_of(host).find("NUMA node 7 has CPUs")),
            "NUMA node 7: its affinity begins with a word of 7 digits, but another has 8; digits "
            "may be missing\n"
            "NUMA node 2: its affinity has a word of 7 digits, but the kernel writes 8; digits may "
            "be missing\n");
  EXPECT_EQ(
      warnings_of(read_xml("<system version=\"1\"><cpu numaid=\"0\" affinity=\"3ff,ffffffff\"/>"
                           "</system>")
                      .value()),
      "")
      << "a kernel of 42 CPUs";
}

TEST(NcclXml, HoldsCpusOfNoNodeAndOfOneNodeTwice) {
  const HostModel none = read_xml("<system version=\"1\"><cpu numaid=\"-1\" affinity=\"3\">" +
                                  gpu_xml("01:00.0") + "</cpu></system>")
                             .value();
  EXPECT_TRUE(none.numa_nodes.empty());
  EXPECT_EQ(none.cpus.to_text(), "0-1");
  EXPECT_EQ(none.gpus[0].near->cpus.to_text(), "0-1");

  const HostModel twice =
      read_xml("<system version=\"1\"><cpu numaid=\"0\" affinity=\"3\">" + gpu_xml("01:00.0") +
               "</cpu><cpu numaid=\"0\" affinity=\"3\">" + gpu_xml("02:00.0") + "</cpu></system>")
          .value();
  EXPECT_EQ(twice.numa_nodes.size(), 1U);
  EXPECT_EQ(path_between(twice, gpu_at(0), gpu_at(1)).kind, PathKind::kNode);
  EXPECT_EQ(warnings_of(twice),
            "NUMA node 0 occurs twice; it is read as two host bridges of one node\n");
}

TEST(NcclXml, TakesTheFirstOfSeveralHosts) {
  const HostModel host =
      read_xml(
          "<system version=\"1\"><cpu numaid=\"0\" host_hash=\"0x1\" affinity=\"3\"/>"
          "<cpu numaid=\"0\" host_hash=\"0x2\" affinity=\"c\"/></system>")
          .value();
  EXPECT_EQ(host.cpus.to_text(), "0-1");
  EXPECT_EQ(warnings_of(host), "the file describes several hosts; only the first one is used\n");
}

TEST(NcclXml, WarnsOfWhatComesTwiceOrBelowADevice) {
  const HostModel host =
      read_xml(one_cpu(gpu_xml("01:00.0", gpu_xml("02:00.0")) + gpu_xml("01:00.0"))).value();
  EXPECT_EQ(host.gpus.size(), 2U);
  EXPECT_EQ(
      warnings_of(host),
      "0000:01:00.0 is not a bridge, but has devices below it; they are read as its siblings\n"
      "0000:01:00.0 occurs twice; the first one is used\n");
}

std::string switch_xml(const std::string& bus, const std::string& inner) {
  return "<pci busid=\"" + bus + "\" class=\"0x060400\">" + inner + "</pci>";
}

TEST(NcclXml, JoinsABridgeThatComesTwice) {
  const HostModel host = read_xml(one_cpu(switch_xml("01:00.0", numbered_gpu("02:00.0", 0)) +
                                          switch_xml("01:00.0", numbered_gpu("03:00.0", 1))))
                             .value();
  ASSERT_EQ(host.gpus.size(), 2U);
  EXPECT_EQ(host.bridges.size(), 2U);
  EXPECT_EQ(path_between(host, gpu_at(0), gpu_at(1)).kind, PathKind::kPix);
}

TEST(NcclXml, KeepsABridgeBelowAnotherThatHasItsAddress) {
  const std::string inner = switch_xml("01:00.0", numbered_gpu("02:00.0", 0));
  const HostModel host =
      read_xml(one_cpu(switch_xml("01:00.0", inner + numbered_gpu("03:00.0", 1)))).value();
  EXPECT_EQ(host.gpus.size(), 2U);
  EXPECT_EQ(host.bridges.size(), 3U);
}

TEST(NcclXml, KeepsANicThatSharesTheAddressOfItsSwitch) {
  const std::string nic =
      R"(<pci busid="01:00.0" class="0x020700"><nic><net name="mlx5_0"/></nic></pci>)";
  const HostModel host =
      read_xml(one_cpu(switch_xml("01:00.0", nic + numbered_gpu("02:00.0", 0)))).value();
  ASSERT_EQ(host.nics.size(), 1U);
  EXPECT_EQ(path_between(host, gpu_at(0), nic_at(0)).kind, PathKind::kPix);
  EXPECT_EQ(warnings_of(host), "");
}

TEST(NcclXml, HasOneNicWhereSeveralCpusNameIt) {
  const std::string nic = R"(<nic><net name="eth0" speed="10000"/></nic></cpu>)";
  const HostModel host = read_xml("<system version=\"1\"><cpu numaid=\"0\" affinity=\"0f\">" + nic +
                                  "<cpu numaid=\"1\" affinity=\"f0\">" + nic + "</system>")
                             .value();
  ASSERT_EQ(host.nics.size(), 1U);
  EXPECT_EQ(host.nics[0].rate_mbit.value, 10000U);
  EXPECT_FALSE(host.nics[0].near.is_known());
}

TEST(NcclXml, HasAGpuForEachPart) {
  const auto part = [](int dev) {
    return "<gpu dev=\"" + std::to_string(dev) + "\">" + link("fffffff:ff:ff.0", 36, "0x068000") +
           "</gpu>";
  };
  const HostModel host = read_xml(one_cpu(gpu_xml("01:00.0", part(0) + part(0)) +
                                          gpu_xml("02:00.0", part(1) + part(1))))
                             .value();
  ASSERT_EQ(host.gpus.size(), 4U);
  EXPECT_EQ(to_text(*host.gpus[1].pci.bus), "0000:01:00.0");
  EXPECT_EQ(host.links.size(), 4U);
  EXPECT_EQ(path_between(host, gpu_at(0), gpu_at(1)).links, 36);
  EXPECT_EQ(warnings_of(host), "");
}

TEST(NcclXml, LeavesOutWhatCannotBeSoOfANic) {
  const HostModel host = read_xml(one_cpu(R"(
    <pci busid="01:00.0" class="0x0207"><nic>
      <net name="cxi0" speed="200000000" guid="0x0a00004b00020018"/></nic></pci>
    <pci busid="01:00.1" class="0x0207"><nic>
      <net name="cxi1" guid="0x0a00004b00020018"/></nic></pci>)"))
                             .value();
  EXPECT_EQ(host.nics[0].kind, NicKind::kSlingshot);
  EXPECT_FALSE(host.nics[0].rate_mbit.is_known());
  EXPECT_FALSE(host.nics[0].guid.is_known()) << "it is of a card with two functions";
  EXPECT_EQ(warnings_of(host),
            "NIC cxi0 has 200000000 Mbit/s, which is not possible; its rate is ignored\n");
}

TEST(NcclXml, BoundsItsWarnings) {
  std::string links;
  for (int i = 0; i < 100; ++i) links += link("01:00.0", 1);
  const HostModel host = read_xml(one_cpu(numbered_gpu("01:00.0", 0, links))).value();
  ASSERT_EQ(host.warnings.size(), 65U);
  EXPECT_EQ(host.warnings.back().text, "and 36 more warnings");
}

TEST(NcclXml, RefusesWhatIsNoSuchFile) {
  EXPECT_EQ(xml_error("<topology/>"),
            "t.xml:1: <topology> is not the root of an NCCL topology, <system>");
  EXPECT_EQ(xml_error("\n<system version=\"3\"/>"),
            "t.xml:2: version \"3\" is not supported; NCCL has 1, RCCL has 2");
  EXPECT_EQ(xml_error("<system version=\"1\"/>"), "t.xml:1: no CPU, GPU or NIC is described");
  EXPECT_EQ(xml_error("<system version=\"1\">\n<cpu affinity=\"f\"/></system>"),
            "t.xml:2: a <cpu> has no numaid");
  EXPECT_EQ(xml_error("<system version=\"1\"><cpu numaid=\"x\"/></system>"),
            "t.xml:1: numaid=\"x\" is not a number");
  EXPECT_EQ(xml_error("<system version=\"1\"><cpu numaid=\"65536\"/></system>"),
            "t.xml:1: numaid=\"65536\" is more than 65535");
  EXPECT_EQ(xml_error("<system version=\"1\"><cpu numaid=\"0\" affinity=\"0-3\"/></system>"),
            "t.xml:1: affinity=\"0-3\" is not a CPU mask");
}

TEST(NcclXml, RefusesAttributesThatAreNone) {
  EXPECT_EQ(xml_error(one_cpu("<pci busid=\"1f\"/>")),
            "t.xml:3: busid=\"1f\" is not a PCI address");
  EXPECT_EQ(xml_error(one_cpu("<pci class=\"0x03\"/>")),
            "t.xml:3: busid=\"\" is not a PCI address");
  EXPECT_EQ(xml_error(one_cpu("<pci busid=\"01:00.0\" class=\"GPU\"/>")),
            "t.xml:3: class=\"GPU\" is not a PCI class");
  EXPECT_EQ(xml_error(one_cpu("<pci busid=\"01:00.0\" vendor=\"0x10de0\"/>")),
            "t.xml:3: vendor=\"0x10de0\" is more than 65535");
  EXPECT_EQ(xml_error(one_cpu("<pci busid=\"01:00.0\" link_width=\"x16\"/>")),
            "t.xml:3: link_width=\"x16\" is not a number");
  EXPECT_EQ(xml_error(one_cpu(gpu_xml("01:00.0", "<gpu dev=\"first\"/>"))),
            "t.xml:3: dev=\"first\" is not a number");
  EXPECT_EQ(xml_error(one_cpu("<nic>\n<net speed=\"1\"/></nic>")), "t.xml:4: a <net> has no name");
  EXPECT_EQ(xml_error(one_cpu("<nic><net name=\"a\" speed=\"fast\"/></nic>")),
            "t.xml:3: speed=\"fast\" is not a number");
  EXPECT_EQ(xml_error(one_cpu(numbered_gpu("01:00.0", 0, link("02:00.0", 1025)))),
            "t.xml:3: count=\"1025\" is more links than 1024");
  EXPECT_EQ(xml_error(one_cpu(numbered_gpu("01:00.0", 0, link("02:00.0", 1, "NVS")))),
            "t.xml:3: tclass=\"NVS\" is not a PCI class");
  EXPECT_EQ(xml_error(one_cpu(gpu_xml("01:00.0", "<gpu><c2c bw=\"100000001\"/></gpu>"))),
            "t.xml:3: bw=\"100000001\" is not possible");
}

TEST(NcclXml, BoundsWhatAFileMayHold) {
  std::string cpus, gpus, nets, functions;
  for (int i = 0; i < 1025; ++i) cpus += "<cpu numaid=\"0\"/>";
  for (int i = 0; i < 1025; ++i) {
    char bus[20];
    std::snprintf(bus, sizeof bus, "%04x:00:00.0", i);
    gpus += gpu_xml(bus);
  }
  for (int i = 0; i < 4097; ++i) nets += "<net name=\"a" + std::to_string(i) + "\"/>";
  for (int i = 0; i < 65537; ++i) functions += "<pci busid=\"01:00.0\"/>";
  EXPECT_EQ(xml_error("<system version=\"1\">" + cpus + "</system>"),
            "t.xml:1: more than 1024 elements <cpu>");
  EXPECT_EQ(xml_error(one_cpu(gpus)), "t.xml:3: more than 1024 GPUs");
  EXPECT_EQ(xml_error(one_cpu("<nic>" + nets + "</nic>")), "t.xml:3: more than 4096 NICs");
  EXPECT_EQ(xml_error(one_cpu(functions)), "t.xml:3: more than 65536 elements <pci>");
}

}  // namespace
}  // namespace paceline::topology
