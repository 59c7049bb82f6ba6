// GPUs, NICs and bridges in hwloc's XML.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/hwloc_text.h"

namespace paceline::topology {
namespace {

HostModel host_with(std::string_view version, const std::string& in_first,
                    const std::string& in_second = "") {
  return read_hwloc_text(two_packages(version, in_first, in_second)).value();
}

std::vector<std::string> gpu_names(const HostModel& host) {
  std::vector<std::string> names;
  for (const Gpu& gpu : host.gpus) names.push_back(gpu.name);
  return names;
}

// One NIC in a machine: what it is.
Nic nic_with(const std::string& pci_type, const std::string& devices) {
  const HostModel host = host_with("2.0", function_below_host("0000:01:00.0", pci_type, devices));
  return host.nics.empty() ? Nic{.name = "none"} : host.nics.front();
}

using Names = std::vector<std::string>;

TEST(HwlocGpus, HaveTheFactsOfAllTheirDevices) {
  const std::string devices =
      device("nvml0", "1", info("NVIDIAUUID", "GPU-1") + info("GPUModel", "A100 ")) +
      device("cuda0", "5", info("CUDAGlobalMemorySize", "2048")) + device("renderD128", "1");
  const HostModel host = host_with(
      "2.0", "", function_below_host("0001:c1:00.0", "0302 [10de:20b2] [0:0] a1", devices));
  ASSERT_EQ(host.gpus.size(), 1U);
  const Gpu& gpu = host.gpus[0];
  EXPECT_EQ(gpu.name, "cuda0");
  EXPECT_EQ(gpu.names, (Names{"cuda0", "nvml0", "renderD128"}));
  EXPECT_EQ(to_text(*gpu.pci.bus), "0001:c1:00.0");
  EXPECT_EQ(gpu.pci.vendor, 0x10de);
  EXPECT_EQ(gpu.pci.device, 0x20b2);
  EXPECT_EQ(gpu.pci.mb_per_s.value, 31508U);
  EXPECT_EQ(gpu.model.value, "A100");
  EXPECT_EQ(gpu.uuid.value, "GPU-1");
  EXPECT_EQ(gpu.memory_bytes.value, 2048U * 1024);
  EXPECT_EQ(gpu.near->cpus.to_text(), "4-7");
  EXPECT_EQ(gpu.near->numa_nodes, std::vector<int>{1});
  EXPECT_EQ(gpu.parts, 1);
}

TEST(HwlocGpus, HaveUnitsBehindSizesInVersion3AndAWarningWhereThereIsNoSize) {
  const auto gpu = [](std::string_view bus, std::string_view name, std::string_view size) {
    return function_below_host(bus, "1200 [1002:74a1] [0:0] 00 00",
                               device(name, "12", info("RSMIVRAMSize", size)));
  };
  const HostModel host =
      host_with("3.0", gpu("0000:02:00.0", "rsmi0", "3GiB") + gpu("0000:01:00.0", "rsmi1", "lots"));
  ASSERT_EQ(gpu_names(host), (Names{"rsmi0", "rsmi1"}));
  EXPECT_EQ(host.gpus[0].memory_bytes.value, std::uint64_t{3} << 30);
  EXPECT_FALSE(host.gpus[1].memory_bytes.is_known());
  ASSERT_EQ(host.warnings.size(), 1U);
  EXPECT_EQ(host.warnings[0].text,
            "rsmi1 states RSMIVRAMSize \"lots\", which is not a size; ignored");
}

TEST(HwlocGpus, AreCountedAsProgramsCountThem) {
  const auto gpu = [](std::string_view bus, const std::string& devices) {
    return function_below_host(bus, "0302 [10de:20b2] [0:0] a1", devices);
  };
  // nvml counts by PCI address, cuda need not.
  const HostModel by_cuda =
      host_with("2.0", gpu("0000:01:00.0", device("cuda10", "5") + device("nvml0", "1")),
                gpu("0000:02:00.0", device("cuda2", "5") + device("nvml1", "1")));
  EXPECT_EQ(gpu_names(by_cuda), (Names{"cuda2", "cuda10"}));
  EXPECT_EQ(by_cuda.gpus[1].number, 1);
  // cards say nothing of the order.
  const HostModel by_bus = host_with("2.0", gpu("0000:02:00.0", device("card1", "1")),
                                     gpu("0000:01:00.0", device("card2", "1")));
  EXPECT_EQ(gpu_names(by_bus), (Names{"card2", "card1"}));
  const HostModel some =
      host_with("2.0", gpu("0000:01:00.0", ""), gpu("0000:02:00.0", device("cuda0", "5")));
  EXPECT_EQ(gpu_names(some), (Names{"cuda0"}));
  ASSERT_EQ(some.warnings.size(), 1U);
  EXPECT_EQ(some.warnings[0].text,
            "GPU 0000:01:00.0 is unknown to cuda, which reports other GPUs; it is ignored");
}

TEST(HwlocGpus, AreNoDisplays) {
  const auto count = [](std::string_view bus, std::string_view type, const std::string& devices) {
    return host_with("2.0", function_below_host(bus, type, devices)).gpus.size();
  };
  const std::string card = device("card0", "1");
  EXPECT_EQ(count("0000:03:00.0", "0300 [1a03:2000] [0:0] 52", card), 0U);
  EXPECT_EQ(count("0000:03:00.0", "0300 [102b:0536] [0:0] 52", card), 0U);
  EXPECT_EQ(count("0000:03:00.0", "0300 [1002:515e] [0:0] 52", card), 0U);
  EXPECT_EQ(count("0000:00:02.0", "0300 [8086:5917] [0:0] 52", card + device("ze0", "5")), 0U);
  EXPECT_EQ(count("0000:00:02.0", "0380 [8086:5917] [0:0] 52", card), 0U);
  EXPECT_EQ(count("0000:03:00.0", "0302 [1a03:2000] [0:0] 52", card), 0U);
  EXPECT_EQ(count("0000:03:00.0", "0300 [8086:56c0] [0:0] 52", device("ze0", "5")), 1U);
  EXPECT_EQ(count("0000:03:00.0", "0300 [10de:2684] [0:0] a1", card), 1U);
  EXPECT_EQ(count("0000:03:00.0", "0380 [1002:740c] [0:0] 52", ""), 1U);
}

TEST(HwlocGpus, OfClass0300CanRenderOrCompute) {
  const auto count = [](std::string_view type, const std::string& devices) {
    return host_with("2.0", function_below_host("0000:03:00.0", type, devices)).gpus.size();
  };
  const std::string card = device("card0", "1"), render = device("renderD128", "1");
  const auto opencl = [](std::string_view type) {
    return object("OSDev", "subtype=\"OpenCL\" name=\"opencl0d0\" osdev_type=\"5\"",
                  info("OpenCLDeviceType", type));
  };
  const std::string vega = "0300 [1002:66a1] [0:0] 06";
  EXPECT_EQ(count(vega, card), 0U);
  EXPECT_EQ(count(vega, card + render), 1U);
  EXPECT_EQ(count(vega, opencl("GPU")), 1U);
  EXPECT_EQ(count(vega, opencl("CPU")), 0U);
  EXPECT_EQ(count("0300 [8086:56a0] [0:0] 08", card + render), 1U);
  EXPECT_EQ(count("0300 [1af4:1050] [0:0] 01", card + render), 0U) << "a virtual display";
}

TEST(HwlocGpus, MayHaveParts) {
  const std::string tiles =
      device("ze0", "5",
             info("LevelZeroUUID", "27") + device("ze0.0", "5", info("LevelZeroHBMSize", "1")) +
                 device("ze0.1", "5", info("LevelZeroHBMSize", "1")));
  const std::string type = "0380 [8086:0bd5] [0:0] 2f";
  const HostModel together = host_with("2.0", function_below_host("0000:01:00.0", type, tiles));
  ASSERT_EQ(gpu_names(together), Names{"ze0"});
  EXPECT_EQ(together.gpus[0].names, Names{"ze0"});
  EXPECT_EQ(together.gpus[0].parts, 2);
  EXPECT_EQ(together.gpus[0].memory_bytes.value, 2048U);
}

// As in the flat mode of Level Zero.
TEST(HwlocGpus, AreAsManyAsAnInterfaceShows) {
  const auto tile = [](std::string_view name, std::string_view size) {
    return device(name, "5", info("LevelZeroHBMSize", size));
  };
  const auto pair = [&](std::string_view bus, std::string_view first, std::string_view second,
                        std::string_view card) {
    return function_below_host(bus, "0380 [8086:0bd5] [0:0] 2f",
                               device(card, "1") + tile(second, "2") + tile(first, "1"));
  };
  const HostModel host = host_with("2.0", pair("0000:01:00.0", "ze0", "ze1", "card1"),
                                   pair("0000:02:00.0", "ze2", "ze3", "card2"));
  ASSERT_EQ(gpu_names(host), (Names{"ze0", "ze1", "ze2", "ze3"}));
  EXPECT_EQ(host.gpus[1].names, (Names{"card1", "ze1"}));
  EXPECT_EQ(host.gpus[1].memory_bytes.value, 2048U);
  EXPECT_EQ(host.gpus[1].parts, 1);
  EXPECT_EQ(host.gpus[0].pci.bus, host.gpus[1].pci.bus);
  EXPECT_TRUE(host.warnings.empty());
}

TEST(HwlocGpus, AreNearTheCacheThatTheyHangAt) {
  const HostModel host =
      host_with("2.0", object("Group", "cpuset=\"0x3\"",
                              function_below_host("0000:01:00.0", "0380 [1002:7408] [0:0] 00")));
  ASSERT_EQ(host.gpus.size(), 1U);
  EXPECT_EQ(host.gpus[0].near->cpus.to_text(), "0-1");
  EXPECT_EQ(host.gpus[0].near->numa_nodes, std::vector<int>{0});
}

TEST(HwlocGpus, MayBeSeenWithoutPci) {
  const HostModel host = host_with("2.0", device("nvml0", "1") + device("cuda0", "5"),
                                   device("cuda1", "5") + device("nvml1", "1"));
  ASSERT_EQ(gpu_names(host), (Names{"cuda0", "cuda1"}));
  EXPECT_FALSE(host.gpus[0].pci.bus.is_known());
  EXPECT_EQ(host.gpus[1].near->cpus.to_text(), "4-7");
}

TEST(HwlocNics, AreOneForEachFunction) {
  const std::string guid = info("NodeGUID", "506b:4b03:003c:eee8");
  const std::string rate = info("Port1LinkSpeed", "200 Gb/sec (4X HDR)");
  const Nic nic = nic_with("0207 [15b3:101b] [0:0] 00",
                           device("hsi0", "2") + device("mlx5_0", "3", guid + rate));
  EXPECT_EQ(nic.name, "mlx5_0");
  EXPECT_EQ(nic.interfaces, Names{"hsi0"});
  EXPECT_EQ(nic.kind, NicKind::kInfiniband);
  EXPECT_TRUE(nic.has_rdma);
  EXPECT_EQ(nic.guid.value, "506b:4b03:003c:eee8");
  EXPECT_EQ(nic.rate_mbit.value, 200000U);
  EXPECT_EQ(nic.near->numa_nodes, std::vector<int>{0});
}

TEST(HwlocNics, AreOfTheKindThatTheirDriversShow) {
  const auto kind = [](const std::string& type, const std::string& devices) {
    return nic_with(type, devices).kind;
  };
  const std::string mellanox = "0200 [15b3:101d] [0:0] 00", old = "0280 [15b3:1003] [0:0] 00";
  const std::string long_address(59, 'a');
  EXPECT_EQ(kind(mellanox, device("ens1", "2") + device("mlx5_0", "3")), NicKind::kRoce);
  EXPECT_EQ(kind(mellanox, device("mlx5_0", "3", info("Port1LinkLayer", "InfiniBand"))),
            NicKind::kInfiniband);
  EXPECT_EQ(kind(old, device("mlx4_0", "3", info("Port1LinkLayer", "Ethernet"))), NicKind::kRoce);
  EXPECT_EQ(kind(old, device("mlx4_0", "3", info("Port1LID", "0x26"))), NicKind::kInfiniband);
  EXPECT_EQ(kind(old, device("mlx4_0", "3", info("Port1LID", "0x0"))), NicKind::kUnknown);
  EXPECT_EQ(kind(old, device("x", "2", info("Address", long_address))), NicKind::kInfiniband);
  EXPECT_EQ(kind("0208 [8086:24f0] [0:0] 11", device("hfi1_0", "3")), NicKind::kOmniPath);
  EXPECT_EQ(kind("0200 [17db:0501] [0:0] 02", device("hsi0", "2")), NicKind::kSlingshot);
  EXPECT_EQ(kind("0200 [0001:0001] [0:0] 02", device("hsn0", "2")), NicKind::kSlingshot);
  EXPECT_EQ(kind("0200 [1d0f:efa1] [0:0] 00", device("rdmap0s6", "3")), NicKind::kEfa);
  EXPECT_EQ(kind("0200 [8086:1592] [0:0] 00", device("rdmap0s6", "3")), NicKind::kRoce);
  EXPECT_EQ(kind("0200 [8086:1521] [0:0] 00", device("eth0", "2")), NicKind::kEthernet);
}

TEST(HwlocNics, WithoutAnyDeviceCountByTheirClass) {
  EXPECT_EQ(nic_with("0207 [15b3:1021] [0:0] 00", "").name, "0000:01:00.0");
  EXPECT_EQ(nic_with("0208 [8086:24f0] [0:0] 00", "").kind, NicKind::kOmniPath);
  EXPECT_EQ(nic_with("0200 [1d0f:efa2] [0:0] 00", "").kind, NicKind::kEfa);
  EXPECT_FALSE(nic_with("0200 [15b3:101d] [0:0] 00", "").has_rdma);
  EXPECT_EQ(nic_with("0200 [8086:1521] [0:0] 00", "").name, "none");
  EXPECT_EQ(nic_with("0108 [144d:a826] [0:0] 00", device("nvme0n1", "0")).name, "none");
}

TEST(HwlocNics, HaveKindsOfDevicesAsBitsInVersion3) {
  const std::string both = device("eth2", "16") + device("ib0", "16") + device("mlx4_0", "48");
  const HostModel host =
      host_with("3.0", function_below_host("0000:05:00.0", "0c06 [15b3:6746] [0:0] b0 00", both));
  ASSERT_EQ(host.nics.size(), 1U);
  EXPECT_EQ(host.nics[0].name, "mlx4_0");
  EXPECT_EQ(host.nics[0].interfaces, (Names{"eth2", "ib0"}));
  EXPECT_EQ(host.nics[0].kind, NicKind::kInfiniband);
}

std::string port(std::string_view bus, std::string_view speed, const std::string& inside) {
  std::string attributes = "bridge_type=\"1-1\" pci_busid=\"";
  attributes.append(bus).append("\" pci_link_speed=\"").append(speed).append("\"");
  return object("Bridge", attributes, inside);
}

std::string gpu(std::string_view bus) {
  std::string attributes = "pci_type=\"0302 [10de:20b2] [0:0] a1\" pci_busid=\"";
  return object("PCIDev", attributes.append(bus).append("\""));
}

TEST(HwlocBridges, OfAnEvenLevelAreSwitches) {
  const std::string far = port("0000:04:00.0", "8", port("0000:05:00.0", "4", gpu("0000:06:00.0")));
  const std::string switch_ports =
      port("0000:03:00.0", "16", gpu("0000:07:00.0")) + port("0000:03:01.0", "16", far);
  const std::string root = port("0000:01:00.0", "2", port("0000:02:00.0", "15,75", switch_ports));
  const HostModel host = host_with("2.0", object("Bridge", "bridge_type=\"0-1\"", root));
  ASSERT_EQ(host.bridges.size(), 3U);
  EXPECT_EQ(host.bridges[0].kind, BridgeKind::kHost);
  EXPECT_EQ(host.bridges[0].near->cpus.to_text(), "0-3");
  EXPECT_EQ(to_text(*host.bridges[1].bus), "0000:02:00.0");
  EXPECT_EQ(host.bridges[1].parent, 0);
  EXPECT_EQ(host.bridges[1].mb_per_s.value, 15750U);
  EXPECT_EQ(to_text(*host.bridges[2].bus), "0000:04:00.0");
  EXPECT_EQ(host.bridges[2].parent, 1);
  EXPECT_EQ(host.gpus[0].pci.bridge, 2);
  EXPECT_EQ(host.gpus[1].pci.bridge, 1);
}

TEST(HwlocBridges, OfAnOddLevelAreSwitchesWhereDevicesShareThem) {
  const std::string two = port("0000:01:00.0", "2", gpu("0000:02:00.0") + gpu("0000:02:00.1"));
  const std::string one = port("0000:01:01.0", "2", gpu("0000:03:00.0"));
  const HostModel host = host_with("2.0", object("Bridge", "bridge_type=\"0-1\"", two + one));
  ASSERT_EQ(host.bridges.size(), 2U);
  EXPECT_EQ(to_text(*host.bridges[1].bus), "0000:01:00.0");
  EXPECT_EQ(host.bridges[1].mb_per_s.value, 2000U);
  EXPECT_EQ(host.gpus[0].pci.bridge, 1);
  EXPECT_EQ(host.gpus[2].pci.bridge, 0);
}

TEST(HwlocBridges, MayBeLeftOutInPart) {
  const std::string no_host = port("0000:01:00.0", "2", gpu("0000:02:00.0") + gpu("0000:02:00.1"));
  const HostModel host = host_with("2.0", no_host, gpu("0001:01:00.0"));
  ASSERT_EQ(host.bridges.size(), 2U);
  EXPECT_EQ(host.bridges[0].near->numa_nodes, std::vector<int>{0});
  EXPECT_EQ(host.bridges[1].parent, 0);
  EXPECT_EQ(host.gpus[2].pci.bridge, kNone);
  EXPECT_EQ(host.gpus[2].near->numa_nodes, std::vector<int>{1});
}

TEST(HwlocPci, ThatIsBrokenIsRefusedWithItsLine) {
  const auto refusal = [](const std::string& attributes) {
    const std::string text = two_packages("2.0", "\n" + object("PCIDev", attributes));
    return read_hwloc_text(text).status().text();
  };
  // Four lines of the machine and eight of the first package come before it.
  EXPECT_EQ(refusal("pci_type=\"0302 [10de:20b2]\""),
            "m.xml:11: pci_busid=\"\" is not a PCI address");
  EXPECT_EQ(refusal("pci_busid=\"0000:01:00.0\" pci_type=\"0302 [10de]\""),
            "m.xml:11: pci_type=\"0302 [10de]\" is not a PCI type");
  const std::string good = "pci_busid=\"0000:01:00.0\" pci_type=\"0302 [10de:20b2]\" ";
  EXPECT_EQ(refusal(good + "pci_link_speed=\"fast\""),
            "m.xml:11: pci_link_speed=\"fast\" is not a number");
  EXPECT_EQ(refusal(good + "pci_link_speed=\"-1\""),
            "m.xml:11: pci_link_speed=\"-1\" is not a number");
}

TEST(HwlocPci, OfMoreThanAnyMachineHasIsRefused) {
  std::string gpus, nics;
  for (int i = 0; i < 1025; ++i) gpus += gpu("0000:01:00.0");
  for (int i = 0; i < 4097; ++i)
    nics += "<object type=\"PCIDev\" pci_busid=\"1:0.0\" pci_type=\"0207 [15b3:1021]\"/>";
  EXPECT_TRUE(read_hwloc_text(two_packages("2.0", gpus))
                  .status()
                  .text()
                  .ends_with(": more than 1024 GPUs"));
  EXPECT_TRUE(read_hwloc_text(two_packages("2.0", nics))
                  .status()
                  .text()
                  .ends_with(": more than 4096 NICs"));
}

}  // namespace
}  // namespace paceline::topology
