#include "topology/read/hwloc_xml.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/topology/hwloc_text.h"

namespace paceline::topology {
namespace {

std::string refusal(std::string text) {
  const auto host = read_hwloc_text(std::move(text));
  return host.ok() ? "read" : host.status().text();
}

// With a <topology> of version 2 in line 1 and the objects from line 2 on.
std::string version_2(const std::string& objects) {
  return "<topology version=\"2.0\">\n" + objects + "</topology>";
}

std::string machine(const std::string& inside) {
  return version_2("<object type=\"Machine\" cpuset=\"0xf\">\n" + inside + "</object>");
}

TEST(HwlocXml, OfVersion1HasCachesByDepthAndNodesAboveSockets) {
  const HostModel host = read_hwloc_text(R"(<topology>
<object type="Machine" cpuset="0x1f" complete_cpuset="0x3f" online_cpuset="0x1f"
        allowed_cpuset="0x0f">
 <info name="HostName" value="old"/><info name="PlatformModel" value="PowerNV 1 "/>
 <info name="Architecture" value="ppc64le"/>
 <object type="NUMANode" os_index="8" cpuset="0x1f" local_memory="4096">
  <object type="Socket" os_index="4" cpuset="0x1f"><info name="CPUModel" value=" POWER  "/>
   <object type="Cache" cpuset="0x1f" depth="2" cache_size="512" cache_type="0">
    <object type="Cache" cpuset="0x1f" depth="3" cache_size="99" cache_type="2">
     <object type="Core" cpuset="0x1f"><object type="PU" os_index="0" cpuset="0x1"/></object>
    </object></object></object></object></object></topology>)")
                             .value();
  EXPECT_EQ(host.name, "old");
  EXPECT_EQ(host.product, "PowerNV 1");
  EXPECT_EQ(host.architecture, "ppc64le");
  EXPECT_EQ(host.sources, std::vector<std::string>{"hwloc XML m.xml"});
  EXPECT_EQ(host.cpus.to_text(), "0-3");
  EXPECT_EQ(host.withheld.to_text(), "4-5");
  const CpuSet all = CpuSet::parse("0-4").value();
  EXPECT_EQ(host.packages, (std::vector<Package>{{4, all, "POWER"}}));
  EXPECT_EQ(host.numa_nodes, (std::vector<NumaNode>{{8, all, 4096, MemoryKind::kOrdinary}}));
  EXPECT_EQ(host.caches, (std::vector<Cache>{{all, 512, 2}}));
  EXPECT_EQ(host.cores, (std::vector<Core>{{all}}));
}

TEST(HwlocXml, OfVersion1MayHaveASystemAndNoNode) {
  const HostModel host = read_hwloc_text(R"(<topology>
<object type="System"><object type="Machine" cpuset="0x3" local_memory="7">
<object type="Core" cpuset="0x3"/></object></object></topology>)")
                             .value();
  const CpuSet all = CpuSet::parse("0-1").value();
  EXPECT_EQ(host.numa_nodes, (std::vector<NumaNode>{{0, all, 7, MemoryKind::kOrdinary}}));
  EXPECT_EQ(read_hwloc_text("<topology><object type=\"System\" cpuset=\"0x1\"/></topology>")
                ->cpus.count(),
            1);
}

TEST(HwlocXml, OfVersion3HasFactsOfTheHostAtItsEnd) {
  const std::string facts = info("HostName", "new") + info("Architecture", "aarch64");
  const HostModel host = read_hwloc_text(two_packages("3.0", "", "", facts)).value();
  EXPECT_EQ(host.name, "new");
  EXPECT_EQ(host.architecture, "aarch64");
  EXPECT_EQ(host.packages.size(), 2U);
  EXPECT_EQ(host.cores.size(), 4U);
  EXPECT_TRUE(host.caches.empty());
  EXPECT_TRUE(host.warnings.empty());
}

TEST(HwlocXml, NamesTheLastLevelOfTheCpusCachesOnly) {
  const std::string inside =
      R"(<object type="L3Cache" cpuset="0xf" depth="3" cache_size="5" subtype="MemorySideCache">
<object type="MemCache" cpuset="0xf" depth="1" cache_size="6">
 <object type="NUMANode" os_index="0" cpuset="0xf"/></object>
<object type="L2Cache" cpuset="0x3" depth="2" cache_size="1" cache_type="0">
 <object type="L1iCache" cpuset="0x3" depth="1" cache_size="2" cache_type="2"/></object>
<object type="L2Cache" cpuset="0x0" depth="2" cache_size="1" cache_type="0"/>
<object type="L2Cache" cpuset="0xc" depth="2" cache_size="4" cache_type="0"/></object>)";
  const HostModel host = read_hwloc_text(machine(inside)).value();
  EXPECT_EQ(host.caches, (std::vector<Cache>{{CpuSet::parse("0-1").value(), 1, 2},
                                             {CpuSet::parse("2-3").value(), 4, 2}}));
  EXPECT_EQ(host.numa_nodes.size(), 1U);
}

TEST(HwlocXml, KnowsWhatIsWithheld) {
  const HostModel host = read_hwloc_text(R"(<topology version="2.0">
<object type="Machine" cpuset="0x3f" complete_cpuset="0xff" allowed_cpuset="0x0f">
<object type="Core" cpuset="0x3f"/></object></topology>)")
                             .value();
  EXPECT_EQ(host.cpus.to_text(), "0-3");
  EXPECT_EQ(host.withheld.to_text(), "4-7");
}

TEST(HwlocXml, SkipsWhatItDoesNotKnow) {
  const HostModel host = read_hwloc_text(machine(R"(<page_type size="4096"/><new/>
<object type="Tile" cpuset="0xf"><object type="Core" os_index="-1" cpuset="0xf"/></object>
<object type="Misc" name="x"/>)"))
                             .value();
  EXPECT_EQ(host.cores.size(), 1U);
}

TEST(HwlocXml, TellsHighBandwidthMemoryFromOrdinary) {
  const std::string nodes = R"(
<object type="NUMANode" os_index="0" gp_index="1" cpuset="0x3" subtype="DRAM"/>
<object type="NUMANode" os_index="2" gp_index="2" cpuset="0x3" subtype="HBM"/>
<object type="NUMANode" os_index="1" gp_index="3" cpuset="0xc"/>
<object type="NUMANode" os_index="3" gp_index="4" cpuset="0xc"/>
<object type="NUMANode" os_index="4" gp_index="5" cpuset="0xc" subtype="NVM"/></object>
<memattr name="Bandwidth">
 <memattr_value target_obj_type="NUMANode" target_obj_gp_index="3" value="100"/>
 <memattr_value target_obj_type="NUMANode" target_obj_gp_index="4" value="90"/>
 <memattr_value target_obj_type="NUMANode" target_obj_gp_index="4" value="200"/>
 <memattr_value target_obj_type="NUMANode" target_obj_gp_index="5" value="20"/></memattr>)";
  const HostModel host = read_hwloc_text(
                             "<topology version=\"2.0\"><object type=\"Machine\" "
                             "cpuset=\"0xf\">" +
                             nodes + "</topology>")
                             .value();
  ASSERT_EQ(host.numa_nodes.size(), 5U);
  EXPECT_EQ(host.numa_nodes[0].kind, MemoryKind::kOrdinary);
  EXPECT_EQ(host.numa_nodes[1].kind, MemoryKind::kOrdinary);
  EXPECT_EQ(host.numa_nodes[2].kind, MemoryKind::kHighBandwidth);
  EXPECT_EQ(host.numa_nodes[3].kind, MemoryKind::kHighBandwidth);
  EXPECT_TRUE(host.numa_nodes[4].cpus.is_empty());
  EXPECT_EQ(cpu_nodes(host).size(), 2U);
  EXPECT_TRUE(host.warnings.empty());
}

TEST(HwlocXml, TakesTheOnlyMemoryForOrdinaryHoweverFast) {
  const std::string node = R"(<object type="NUMANode" subtype="HBM" cpuset="0xf" os_index=")";
  const HostModel host = read_hwloc_text(machine(node + "0\"/>" + node + "1\"/>")).value();
  EXPECT_EQ(host.numa_nodes[0].kind, MemoryKind::kOrdinary);
  ASSERT_EQ(host.warnings.size(), 1U);
  EXPECT_EQ(host.warnings[0].text,
            "NUMA node 1 has CPUs of another node; the first node keeps them");
}

TEST(HwlocXml, TellsMemoryOfGpusFromThatOfCpus) {
  const std::string gpu = function_below_host("0000:01:00.0", "0302 [10de:2342] [0:0] a1");
  const HostModel host =
      read_hwloc_text(
          two_packages("2.0", gpu + R"(<object type="NUMANode" os_index="2" cpuset="0x0"/>)",
                       function_below_host("0001:01:00.0", "0300 [0000:0000] [0:0] 00") +
                           R"(<object type="NUMANode" os_index="3" cpuset="0x0"/>
<object type="NUMANode" os_index="4" cpuset="0xf0" local_memory="64" subtype="GPUMemory">
<info name="PCIBusID" value="0001:01:00.0"/></object>)"))
          .value();
  ASSERT_EQ(host.numa_nodes.size(), 5U);
  EXPECT_EQ(host.numa_nodes[2].kind, MemoryKind::kOrdinary) << "nothing says whose it is";
  EXPECT_EQ(host.numa_nodes[3].kind, MemoryKind::kOrdinary);
  EXPECT_EQ(host.numa_nodes[4].kind, MemoryKind::kDevice);
  EXPECT_EQ(cpu_nodes(host).size(), 2U);
  // Its memory is what says that the second function is one.
  ASSERT_EQ(host.gpus.size(), 2U);
  EXPECT_EQ(host.gpus[1].name, "0001:01:00.0");
  EXPECT_EQ(host.gpus[1].memory_bytes.value, 64U);
}

TEST(HwlocXml, OfACutMachineSaysWhereDevicesAreByNodes) {
  const std::string gpu = function_below_host("0000:01:00.0", "0302 [10de:2342] [0:0] a1");
  const HostModel host =
      read_hwloc_text(machine(R"(<object type="NUMANode" os_index="0" cpuset="0xf"/>
<object type="Group" cpuset="0x0" nodeset="0x00000008">
<object type="NUMANode" os_index="3" cpuset="0x0"/>)" +
                              gpu + "</object>"))
          .value();
  ASSERT_EQ(host.gpus.size(), 1U);
  EXPECT_EQ(host.numa_nodes[1].kind, MemoryKind::kOrdinary);
  EXPECT_EQ(host.gpus[0].near->numa_nodes, std::vector<int>{3});
}

TEST(HwlocXml, ThatIsBrokenIsRefusedWithItsLine) {
  EXPECT_EQ(refusal("<system/>"), "m.xml:1: <system> is not the root of an hwloc topology");
  EXPECT_EQ(refusal("\n<topology version=\"4.0\"/>"),
            "m.xml:2: version=\"4.0\" is not supported; supported are 1, 2 and 3");
  EXPECT_EQ(refusal("<topology version=\"2.0\"/>"), "m.xml:1: there is no object of type Machine");
  EXPECT_EQ(refusal(version_2("<object type=\"Machine\"/>")), "m.xml:2: a Machine has no cpuset");
  EXPECT_EQ(refusal(machine("<object type=\"PU\" os_index=\"1\"/>")),
            "m.xml:3: a PU has no cpuset");
  EXPECT_EQ(refusal(machine("<object type=\"Core\" cpuset=\"0-3\"/>")),
            "m.xml:3: cpuset=\"0-3\" is not a CPU mask");
  EXPECT_EQ(refusal(machine("<object type=\"Package\" os_index=\"one\" cpuset=\"0x1\"/>")),
            "m.xml:3: os_index=\"one\" is not a number");
  EXPECT_EQ(refusal(machine("<object type=\"Package\" os_index=\"99999999999\" cpuset=\"0x1\"/>")),
            "m.xml:3: os_index 99999999999 of a package is too large");
  EXPECT_EQ(refusal(machine("\n<object type=\"NUMANode\" cpuset=\"0x1\"/>")),
            "m.xml:4: a NUMANode has no os_index");
  EXPECT_EQ(refusal(machine("<object type=\"NUMANode\" os_index=\"65536\" cpuset=\"0x1\"/>")),
            "m.xml:3: os_index 65536 of a NUMANode is too large");
  EXPECT_EQ(refusal(machine("<object type=\"NUMANode\" os_index=\"1\" cpuset=\"0x1\"/>\n"
                            "<object type=\"NUMANode\" os_index=\"1\" cpuset=\"0x1\"/>")),
            "m.xml:4: there is a second NUMANode with os_index 1");
  EXPECT_EQ(refusal(machine("<object type=\"Core\" cpuset=\"0x1\"/>\n"
                            "<object type=\"Core\" cpuset=\"0x3\"/>")),
            "m.xml:4: a core has CPUs of another core");
  EXPECT_EQ(refusal(version_2("<object type=\"Machine\" cpuset=\"0x1\"/>\n"
                              "<object type=\"Machine\" cpuset=\"0x1\"/>")),
            "m.xml:3: there is a second machine; a file must describe one machine");
  EXPECT_EQ(refusal(version_2("<object type=\"Machine\" cpuset=\"0x1\" allowed_cpuset=\"all\"/>")),
            "m.xml:2: allowed_cpuset=\"all\" is not a CPU mask");
  EXPECT_EQ(refusal(version_2("<object type=\"Machine\" cpuset=\"0x0\"/>")),
            "m.xml: no CPU, GPU or NIC is described");
}

TEST(HwlocXml, OfMoreThanAnyMachineHasIsRefused) {
  std::string nodes, endless;
  for (int i = 0; i < 1025; ++i) {
    nodes += "<object type=\"NUMANode\" os_index=\"1\" cpuset=\"0x1\"/>";
    endless += "<object type=\"Group\" cpuset=\"0xf...f\"/>";
  }
  EXPECT_EQ(refusal(machine(nodes)), "m.xml:3: more than 1024 NUMA nodes");
  EXPECT_EQ(refusal(machine(endless)), "m.xml:3: more than 1024 infinite CPU masks");
}

}  // namespace
}  // namespace paceline::topology
