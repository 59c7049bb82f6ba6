#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "topology/path/path.h"
#include "topology/read/model_json.h"
#include "topology/read/nccl_xml.h"
#include "topology/render/processor.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

HostModel read_back(const std::string& text) {
  return read_nccl_xml(*XmlDocument::parse({"t.xml", text}).value()).value();
}

// What this format can say of the small host: no packages, cores or memory, one host bridge a node.
HostModel small_host_for_nccl() {
  HostModel host = small_host();
  host.architecture = "x86_64";
  host.processor = known(Processor{"GenuineIntel", 6, 85});
  host.packages.clear();
  host.cores.clear();
  for (NumaNode& node : host.numa_nodes) node.memory_bytes = 0;
  host.nics[1].pci.bridge = 2;
  for (Gpu& gpu : host.gpus) {
    gpu.name = "GPU" + std::to_string(gpu.number);
    gpu.names = {gpu.name};
  }
  for (Nic& nic : host.nics) nic.kind = NicKind::kUnknown;
  return finished(std::move(host));
}

TEST(NcclXmlText, IsAsItsReaderWantsIt) {
  HostModel host = small_host_for_nccl();
  for (Gpu& gpu : host.gpus) gpu.pci.vendor = 0;
  host.nics[0].pci.vendor = 0;
  host.gpus[2].pci = {.bus = host.gpus[2].pci.bus, .vendor = 0x10de, .device = 0x20b0, .bridge = 2};
  host.nics[1].pci.mb_per_s = {};
  host.nics[1].guid = known(std::string("1800:0200:4b00:000a"));
  host.nics[1].port = 2;
  EXPECT_EQ(nccl_xml_text(host), R"(<system version="1">
  <cpu numaid="0" affinity="0000000f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:02:00.0" class="0x060400" link_speed="8 GT/s" link_width="16">
      <pci busid="0000:03:00.0" class="0x030200" link_speed="16 GT/s" link_width="16">
        <gpu dev="0">
          <nvlink target="0000:04:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:04:00.0" class="0x030200" link_speed="16 GT/s" link_width="16">
        <gpu dev="1">
          <nvlink target="0000:03:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:08:00.0" class="0x020000" link_speed="16 GT/s" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="200000"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="000000f0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:05:00.0" class="0x030200" vendor="0x10de" device="0x20b0">
      <gpu dev="2"/>
    </pci>
    <pci busid="0000:09:00.0" class="0x020000" link_speed="" link_width="0" vendor="0x15b3">
      <nic>
        <net name="mlx5_1" dev="1" speed="200000" port="2" guid="0xa00004b00020018"/>
      </nic>
    </pci>
  </cpu>
</system>
)");
}

TEST(NcclXmlText, ReadsBackAsTheSameMachine) {
  const HostModel host = small_host_for_nccl();
  EXPECT_TRUE(same_machine(read_back(nccl_xml_text(host)), host));

  HostModel switches = small_host_for_nccl();
  switches.links.clear();
  for (int i = 0; i < 3; ++i)
    switches.links.push_back(
        {.kind = LinkKind::kXgmi, .gpu = i, .end = LinkEnd::kSwitch, .count = 2});
  for (Gpu& gpu : switches.gpus) gpu.pci.vendor = 0x1002;
  switches.nics[1] = {
      .name = "eth0", .interfaces = {"eth0"}, .kind = NicKind::kEthernet, .pci = {.bridge = 2}};
  switches.nics[0].name = to_text(*switches.nics[0].pci.bus);
  switches.nics[0].rate_mbit = {};
  switches = finished(std::move(switches));
  const std::string text = nccl_xml_text(switches);
  EXPECT_TRUE(text.starts_with("<system version=\"2\">")) << "RCCL's";
  EXPECT_TRUE(same_machine(read_back(text), switches)) << text;
}

TEST(NcclXmlText, ReadsBackWithLinksToTheCpu) {
  HostModel host = small_host_for_nccl();
  host.architecture = "aarch64";
  host.processor = {};
  for (int i = 0; i < 2; ++i)
    host.packages.push_back({.number = i, .cpus = host.numa_nodes[static_cast<size_t>(i)].cpus});
  host.links = {{.gpu = 0, .end = LinkEnd::kPackage, .peer = 0, .count = 3},
                {.gpu = 2,
                 .end = LinkEnd::kPackage,
                 .peer = 1,
                 .count = 10,
                 .mb_per_s = known(std::uint64_t{447120})}};
  host = finished(std::move(host));
  EXPECT_TRUE(same_machine(read_back(nccl_xml_text(host)), host)) << nccl_xml_text(host);
}

TEST(NcclXmlText, JoinsHostBridgesOfOneNodeAndKeepsNodesWithoutAny) {
  HostModel host = finished(small_host());
  host.numa_nodes.push_back({.number = 5, .cpus = CpuSet::parse("8").value()});
  host.numa_nodes.push_back({.number = 6, .kind = MemoryKind::kDevice});
  const HostModel again = read_back(nccl_xml_text(host));
  EXPECT_EQ(again.numa_nodes.size(), 3U);
  EXPECT_EQ(path_between(again, {DeviceKind::kGpu, 2}, {DeviceKind::kNic, 1}).kind, PathKind::kPhb)
      << "there is one <cpu> for a NUMA node";
}

TEST(NcclXmlText, KeepsAGuidOnlyOfANicThatIsItsCard) {
  HostModel host = small_host_for_nccl();
  for (std::size_t i = 0; i < 2; ++i) {
    host.nics[i].pci.bus = known(BusId{.bus = 8, .function = static_cast<std::uint8_t>(i)});
    host.nics[i].guid = known("1800:0200:4b00:000" + std::to_string(i));
  }
  EXPECT_EQ(nccl_xml_text(host).find("guid"), std::string::npos);
}

TEST(NcclXmlText, DoesWithoutAMaskThatIsTooLongForItsReader) {
  HostModel host = small_host_for_nccl();
  host.numa_nodes[0].cpus.add(895);
  EXPECT_NE(nccl_xml_text(host).find("affinity=\"80000000,"), std::string::npos);
  host.numa_nodes[0].cpus.add(896);
  EXPECT_EQ(nccl_xml_text(host).find("affinity=\"00000001,"), std::string::npos);
}

TEST(NcclXmlText, EscapesNames) {
  HostModel host = small_host_for_nccl();
  host.nics[0].name = "a<\"&\n";
  EXPECT_NE(nccl_xml_text(host).find("name=\"a&lt;&quot;&amp;?\""), std::string::npos);
}

TEST(NcclXmlText, IsNotNestedWithoutEnd) {
  HostModel host = small_host_for_nccl();
  for (int i = 0; i < 20000; ++i) {
    const int parent = i == 0 ? 1 : static_cast<int>(host.bridges.size()) - 1;
    host.bridges.push_back({.kind = BridgeKind::kSwitch, .parent = parent});
  }
  host.gpus[0].pci.bridge = static_cast<int>(host.bridges.size()) - 1;
  const HostModel again = read_back(nccl_xml_text(host));
  EXPECT_EQ(path_between(again, {DeviceKind::kGpu, 0}, {DeviceKind::kGpu, 2}).kind, PathKind::kSys);
  EXPECT_LT(again.bridges.size(), 40U);
}

// GPUs 0 and 1 and NICs 0 and 1 without any bridge: all near node 0 but what the test says.
HostModel stated_host(std::vector<StatedPath> stated) {
  HostModel host = small_host_for_nccl();
  host.bridges.clear();
  host.links.clear();
  host.gpus.pop_back();
  for (Gpu& gpu : host.gpus) {
    gpu.pci = {.vendor = 0x10de};
    gpu.near = known(place_of("0-3", 0));
  }
  for (Nic& nic : host.nics) {
    nic.pci = {};
    nic.near = {};
  }
  host.stated = std::move(stated);
  return finished(std::move(host));
}

TEST(NcclXmlText, BuildsTheTreeThatStatementsImply) {
  const HostModel host = stated_host({{gpu(0), gpu(1), PathKind::kNvl, 12},
                                      {gpu(0), nic(0), PathKind::kPix},
                                      {gpu(1), nic(0), PathKind::kPxb},
                                      {gpu(0), nic(1), PathKind::kSys},
                                      {gpu(1), nic(1), PathKind::kSys},
                                      {nic(0), nic(1), PathKind::kSys}});
  const HostModel again = read_back(nccl_xml_text(host));
  ASSERT_EQ(again.bridges.size(), 5U) << "two host bridges, and three switches";
  EXPECT_FALSE(again.gpus[0].pci.bus.is_known()) << "the file has one that is made up";
  EXPECT_EQ(again.nics[0].near->numa_nodes, std::vector<int>{0});
  EXPECT_FALSE(again.nics[1].near.is_known());
  for (const StatedPath& path : host.stated) {
    const Path found = path_between(again, path.a, path.b);
    EXPECT_EQ(found.kind, path.kind);
    EXPECT_EQ(found.links, path.links);
  }
}

TEST(NcclXmlText, PutsWhatContradictsItselfBelowItsCpu) {
  const HostModel host = stated_host({{gpu(0), gpu(1), PathKind::kPix},
                                      {gpu(0), nic(0), PathKind::kPix},
                                      {gpu(1), nic(0), PathKind::kSys}});
  const HostModel again = read_back(nccl_xml_text(host));
  EXPECT_EQ(path_between(again, gpu(0), gpu(1)).kind, PathKind::kPhb);

  HostModel far = stated_host({{gpu(0), gpu(1), PathKind::kPix}});
  far.gpus[1].near = known(place_of("4-7", 1));
  EXPECT_EQ(path_between(read_back(nccl_xml_text(far)), gpu(0), gpu(1)).kind, PathKind::kSys);
}

TEST(NcclXmlText, TakesMoreLinksThanAGpuHasForLinksToSwitches) {
  HostModel host = stated_host({{gpu(0), gpu(1), PathKind::kNvl, 10}});
  EXPECT_EQ(read_back(nccl_xml_text(host)).links[0].end, LinkEnd::kGpu);
  host.stated[0].links = 19;
  const HostModel again = read_back(nccl_xml_text(host));
  EXPECT_EQ(again.links[0].end, LinkEnd::kSwitch);
  EXPECT_EQ(path_between(again, gpu(0), gpu(1)).links, 19);
}

// A switch would join the two pairs.
TEST(NcclXmlText, KeepsLinksOfGroupsOfGpusApart) {
  HostModel host;
  for (int i = 0; i < 4; ++i) host.gpus.push_back({.number = i, .pci = {.vendor = 0x10de}});
  host.stated = {{gpu(0), gpu(1), PathKind::kNvl, 19},
                 {gpu(1), gpu(2), PathKind::kSys},
                 {gpu(2), gpu(3), PathKind::kNvl, 19}};
  const HostModel again = read_back(nccl_xml_text(finished(std::move(host))));
  EXPECT_EQ(path_between(again, gpu(0), gpu(1)).links, 19);
  EXPECT_EQ(path_between(again, gpu(2), gpu(3)).links, 19);
  EXPECT_NE(path_between(again, gpu(1), gpu(2)).kind, PathKind::kNvl);
}

TEST(NcclXmlText, CountsLinksByTheirRateOrLeavesThemToNccl) {
  const auto links = [](std::uint64_t mb_per_s) {
    HostModel host = small_host_for_nccl();
    host.links = {{.gpu = 0, .peer = 1, .mb_per_s = known(mb_per_s)}};
    return read_back(nccl_xml_text(finished(std::move(host)))).links;
  };
  ASSERT_EQ(links(150000).size(), 1U);
  EXPECT_EQ(links(150000)[0].count, 6);
  EXPECT_EQ(links(40000)[0].count, 2);
  EXPECT_TRUE(links(30000).empty()) << "no NVLink has such a rate";
}

TEST(NcclXmlText, KeepsTheProcessor) {
  HostModel host = small_host_for_nccl();
  host.processor = known(Processor{"AuthenticAMD", 143, 49});
  EXPECT_TRUE(same_machine(read_back(nccl_xml_text(host)), host));
  EXPECT_TRUE(same_machine(read_model_json({"t.json", model_json_text(host)}).value(), host));
}

TEST(NcclXmlText, SaysNothingOfAProcessorThatNoSourceStates) {
  HostModel host = small_host_for_nccl();
  host.processor = {};
  const std::string text = nccl_xml_text(host);
  EXPECT_EQ(text.find("GenuineIntel"), std::string::npos) << text;
  EXPECT_NE(text.find("arch=\"x86_64\" vendor=\"\">"), std::string::npos) << "beside a NIC";
  host.nics.clear();
  EXPECT_NE(nccl_xml_text(host).find("arch=\"x86_64\">"), std::string::npos) << "NCCL completes it";
  host.architecture.clear();
  EXPECT_NE(nccl_xml_text(host).find("affinity=\"0000000f\">"), std::string::npos);
}

TEST(NcclXmlText, PutsADeviceBelowANodeOfOrdinaryMemory) {
  HostModel host = small_host_for_nccl();
  host.numa_nodes.push_back(
      {.number = 7, .cpus = host.numa_nodes[0].cpus, .kind = MemoryKind::kHighBandwidth});
  host.bridges[0].near = known(Place{.cpus = cpus("0-3"), .numa_nodes = {7, 0}});
  const HostModel again = read_back(nccl_xml_text(host));
  ASSERT_EQ(again.numa_nodes.size(), 2U);
  EXPECT_EQ(again.gpus[0].near->numa_nodes, std::vector<int>{0});
}

TEST(NcclXmlText, HasNoLinksToPackagesThatAreNotNodes) {
  HostModel host = small_host_for_nccl();
  host.architecture = "aarch64";
  host.processor = {};
  host.packages = {{.number = 0, .cpus = cpus("0-7")}};
  host.links = {{.gpu = 0, .end = LinkEnd::kPackage, .peer = 0, .count = 3}};
  host = finished(std::move(host));
  EXPECT_TRUE(read_back(nccl_xml_text(host)).packages.empty());
  const LeftOut left = left_out_of_nccl_xml(host);
  EXPECT_EQ(std::ranges::count(left.fields, "links"), 1);
  EXPECT_EQ(std::ranges::count(left.fields, "packages"), 1);
}

TEST(NcclXmlText, LeavesOutTheRateOfNoPcieLink) {
  HostModel host = small_host_for_nccl();
  host.gpus[2].pci.mb_per_s = known(std::uint64_t{15000});
  EXPECT_FALSE(read_back(nccl_xml_text(host)).gpus[2].pci.mb_per_s.is_known());
}

TEST(NcclXmlText, TellsWhatItLeavesOut) {
  HostModel host = small_host_for_nccl();
  host.name.clear();
  EXPECT_TRUE(left_out_of_nccl_xml(host).fields.empty());
  host.gpus[1].uuid = known(std::string("GPU-1"));
  host.nics[0].is_up = known(true);
  EXPECT_EQ(left_out_of_nccl_xml(host).sentences,
            std::vector<std::string>{
                "NCCL's XML cannot state, and leaves out: 1 GPU UUID and 1 NIC state"});
}

TEST(NcclXmlText, KeepsTheClassOfInfiniband) {
  HostModel host = small_host_for_nccl();
  host.nics[0].kind = NicKind::kInfiniband;
  EXPECT_TRUE(same_machine(read_back(nccl_xml_text(host)), host));
}

TEST(NcclXmlText, KeepsThePartsOfAGpuTogether) {
  HostModel host = small_host_for_nccl();
  host.links.clear();
  host.gpus[1].pci = host.gpus[0].pci;
  host = finished(std::move(host));
  const std::string text = nccl_xml_text(host);
  EXPECT_TRUE(same_machine(read_back(text), host)) << text;
  EXPECT_NE(text.find("<gpu dev=\"0\" mlopart=\"1\"/>"), std::string::npos) << text;
  EXPECT_NE(text.find("<gpu dev=\"1\"/>"), std::string::npos) << text;
}

TEST(Processors, AreKnownByTheirNames) {
  EXPECT_EQ(processor_of("AMD EPYC 7551 32-Core Processor"), (Processor{"AuthenticAMD", 0x8f, 0}));
  EXPECT_EQ(processor_of("AMD EPYC 7A53 64-Core Processor"), (Processor{"AuthenticAMD", 0xaf, 0}));
  EXPECT_EQ(processor_of("AMD EPYC 9654P"), (Processor{"AuthenticAMD", 0xaf, 0}));
  EXPECT_EQ(processor_of("AMD EPYC 9555 64-Core"), (Processor{"AuthenticAMD", 0xbf, 0}));
  EXPECT_EQ(processor_of("AMD EPYC "), (Processor{"AuthenticAMD", 0xaf, 0}));
  EXPECT_EQ(processor_of("AMD Instinct MI300A"), (Processor{"AuthenticAMD", 0xaf, 0}));
  EXPECT_EQ(processor_of("AMD Opteron(tm) 6134"), (Processor{"AuthenticAMD", 0x8f, 0}));
  EXPECT_EQ(processor_of("Intel(R) Xeon(R) CPU E5-2695 v4"), (Processor{"GenuineIntel", 6, 0x4f}));
  EXPECT_EQ(processor_of("Intel(R) Xeon(R) Gold 6230 CPU"), (Processor{"GenuineIntel", 6, 0x55}));
  EXPECT_EQ(processor_of("Intel(R) Xeon(R) Platinum 8358"), (Processor{"GenuineIntel", 6, 0x6a}));
  EXPECT_EQ(processor_of("Intel(R) Xeon(R) Platinum 8480C"), (Processor{"GenuineIntel", 6, 0x8f}));
  EXPECT_EQ(processor_of("INTEL(R) XEON(R) 6980P"), (Processor{"GenuineIntel", 6, 0x55}));
  EXPECT_EQ(processor_of("Intel(R) Xeon(R) 6980P"), (Processor{"GenuineIntel", 6, 0xad}));
  EXPECT_EQ(processor_of("Intel(R) Xeon(R) Gold "), (Processor{"GenuineIntel", 6, 0x55}));
  EXPECT_EQ(processor_of(""), (Processor{"GenuineIntel", 6, 0x55}));
}

}  // namespace
}  // namespace paceline::topology
