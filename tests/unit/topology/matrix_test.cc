#include "topology/read/matrix.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "topology/model/finish.h"
#include "topology/path/path.h"
#include "topology/read/nccl_xml.h"
#include "topology/read/read_host.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

HostModel matrix_of(const std::string& text) { return read_matrix({"m.txt", text}).value(); }

std::string matrix_error(const std::string& text) {
  const auto host = read_matrix({"m.txt", text});
  return host.ok() ? "no error" : host.status().text();
}

std::vector<DeviceRef> devices_of(const HostModel& host) {
  std::vector<DeviceRef> all;
  for (std::size_t i = 0; i < host.gpus.size(); ++i) all.push_back(gpu(static_cast<int>(i)));
  for (std::size_t i = 0; i < host.nics.size(); ++i) all.push_back(nic(static_cast<int>(i)));
  return all;
}

void expect_same_kinds(const HostModel& a, const HostModel& b) {
  const std::vector<DeviceRef> devices = devices_of(a);
  ASSERT_EQ(devices, devices_of(b));
  for (const DeviceRef from : devices)
    for (const DeviceRef to : devices) {
      EXPECT_EQ(path_between(a, from, to).kind, path_between(b, from, to).kind);
      EXPECT_EQ(path_between(a, from, to).links, path_between(b, from, to).links);
    }
}

TEST(Matrix, IsReadWithSpaces) {
  const HostModel host = matrix_of(
      "$ nvidia-smi topo -m\n"
      "\x1b[4m        GPU0    GPU1    mlx5_2  mlx5_10 CPU Affinity    NUMA Affinity   GPU NUMA "
      "ID\x1b[0m\n"
      "GPU0     X      NV12    PIX     SYS     0-1,4   3               N/A\r\n"
      "GPU1    NV12     X      NODE    SOC     2-3,5   1               9\n"
      "mlx5_2  PIX     NODE     X      SYS\n"
      "mlx5_10 SYS     SOC     SYS      X\n"
      "\nLegend:\n\n  X    = Self\n  NV#  = links\n");
  EXPECT_EQ(warnings_of(host), "");
  EXPECT_EQ(host.sources, std::vector<std::string>{"nvidia-smi matrix m.txt"});
  ASSERT_EQ(host.gpus.size(), 2U);
  EXPECT_EQ(host.gpus[1].name, "GPU1");
  EXPECT_EQ(host.gpus[0].pci.vendor, 0x10de);
  EXPECT_EQ(*host.gpus[0].near, (Place{CpuSet::parse("0-1,4").value(), {3}}));
  ASSERT_EQ(host.numa_nodes.size(), 3U);
  EXPECT_EQ(host.numa_nodes[0].number, 1);
  EXPECT_EQ(host.numa_nodes[2].kind, MemoryKind::kDevice);
  EXPECT_EQ(host.numa_nodes[2].number, 9);
  EXPECT_EQ(host.cpus.to_text(), "0-5");
  ASSERT_EQ(host.nics.size(), 2U);
  EXPECT_EQ(host.nics[0].name, "mlx5_2");
  EXPECT_EQ(host.nics[0].near->numa_nodes, std::vector<int>{3}) << "as the GPU that is nearest";
  EXPECT_FALSE(host.nics[1].near.is_known());
  EXPECT_EQ(host.stated.size(), 6U);
  EXPECT_EQ(path_between(host, gpu(0), gpu(1)).kind, PathKind::kNvl);
  EXPECT_EQ(path_between(host, gpu(0), gpu(1)).links, 12);
  EXPECT_EQ(path_between(host, gpu(1), nic(1)).kind, PathKind::kSys);
}

TEST(Matrix, IsReadWithTabsAndNamesOfTheLegend) {
  const HostModel host = matrix_of(
      "\tGPU0\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
      "GPU0\t X \tPXB\tPHB\t0-3\t0\t\tN/A\n"
      "NIC0\tPXB\t X \tPIX\n"
      "NIC1\tPHB\tPIX\t X \n"
      "\nNIC Legend:\n\n  NIC0: mlx5_7\n  NIC1: rdmap1s0\n  NIC9: mlx5_9\n");
  EXPECT_EQ(host.nics[0].name, "mlx5_7");
  EXPECT_EQ(host.nics[1].kind, NicKind::kEfa);
  EXPECT_EQ(path_between(host, nic(0), nic(1)).kind, PathKind::kPix);
  EXPECT_EQ(host.nics[1].near->numa_nodes, std::vector<int>{0});
}

TEST(Matrix, MayTellOfNoCpus) {
  const HostModel host = matrix_of("GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X");
  EXPECT_TRUE(host.numa_nodes.empty());
  EXPECT_FALSE(host.gpus[0].near.is_known());
  EXPECT_EQ(matrix_of("GPU0 CPU Affinity NUMA Affinity GPU NUMA ID\nGPU0 X N/A\n").cpus.count(), 0);
}

TEST(Matrix, CountsNodesThatNobodyNumbered) {
  const HostModel host = matrix_of(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\n"
      "GPU0\tX\tSYS\tPHB\t4-7\nGPU1\tSYS\tX\tSYS\t0-3\nGPU2\tPHB\tSYS\tX\t4-7\n");
  ASSERT_EQ(host.numa_nodes.size(), 2U);
  EXPECT_EQ(host.numa_nodes[0].cpus.to_text(), "4-7");
  EXPECT_EQ(host.gpus[2].near->numa_nodes, std::vector<int>{0});
  EXPECT_EQ(
      warnings_of(host),
      "the numbers of NUMA nodes are not stated; nodes are numbered from 0 in the order of GPUs\n");
}

TEST(Matrix, MayPutAGpuNearSeveralNodes) {
  const HostModel host = matrix_of("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\tX\t0-7\t0-1\n");
  EXPECT_EQ(host.gpus[0].near->numa_nodes, (std::vector<int>{0, 1}));
  ASSERT_EQ(host.numa_nodes.size(), 2U);
  EXPECT_TRUE(host.numa_nodes[0].cpus.is_empty()) << "nobody said which CPUs are whose";
  EXPECT_EQ(host.cpus.count(), 8);
}

TEST(Matrix, WarnsOfCellsThatDiffer) {
  const HostModel one = matrix_of("GPU0 GPU1\nGPU0 X PIX\nGPU1 SYS X\n");
  EXPECT_EQ(path_between(one, gpu(0), gpu(1)).kind, PathKind::kSys);
  EXPECT_EQ(warnings_of(one),
            "GPU0 to GPU1 is PIX, but in the other direction SYS; the farther one is used\n");
  const HostModel two =
      matrix_of("GPU0 GPU1 GPU2\nGPU0 X NV4 NV1\nGPU1 NV2 X PIX\nGPU2 PHB PIX X\n");
  EXPECT_EQ(path_between(two, gpu(0), gpu(1)).links, 2);
  EXPECT_EQ(path_between(two, gpu(0), gpu(2)).kind, PathKind::kPhb);
  EXPECT_EQ(warnings_of(two),
            "GPU0 to GPU1 is NV4, but in the other direction NV2, and 1 more pairs differ; the "
            "farther ones are used\n");
}

TEST(Matrix, WarnsOfNumbersAndNodes) {
  const HostModel host = matrix_of(
      "\tGPU3\tGPU1\tCPU Affinity\tNUMA Affinity\n"
      "GPU3\tX\tPIX\t0-3\t0\nGPU1\tPIX\tX\t0-7\t0\n");
  EXPECT_EQ(host.gpus[0].near->cpus.to_text(), "0-7") << "GPU1 comes before GPU3";
  EXPECT_EQ(warnings_of(host),
            "NUMA node 0 has CPUs 0-7 for one GPU, and 0-3 for another; the first value is used\n"
            "the numbers of GPUs have gaps; GPUs are renumbered in this order\n");
}

TEST(Matrix, OfRocmSmiIsItsTableOfLinkTypes) {
  const HostModel host = matrix_of(
      "=== ROCm System Management Interface ===\n=== Weight between two GPUs ===\n"
      "       GPU0         GPU1         GPU2\nGPU0   0            15           40\n"
      "GPU1   15           0            40\nGPU2   40           40           0\n\n"
      "=== Link Type between two GPUs ===\n"
      "       GPU0         GPU1         GPU2\nGPU0   0            XGMI         PCIE\n"
      "GPU1   XGMI         0            PCIE\nGPU2   PCIE         PCIE         0\n"
      "=== End of ROCm SMI Log ===\n");
  EXPECT_EQ(host.sources, std::vector<std::string>{"rocm-smi matrix m.txt"});
  EXPECT_EQ(host.gpus[0].pci.vendor, 0x1002);
  ASSERT_EQ(host.stated.size(), 1U);
  EXPECT_EQ(host.stated[0].kind, PathKind::kNvl);
  EXPECT_EQ(host.stated[0].links, 0);
  EXPECT_EQ(warnings_of(host), "PCIE does not state a distance; SYS is used\n");
}

// In the same order as the columns: CPUs and nodes near a GPU.
std::string near_text(const HostModel& host, std::size_t gpu) {
  const Fact<Place>& near = host.gpus[gpu].near;
  if (!near.is_known()) return "unknown";
  std::string text = near->cpus.to_text();
  for (const int node : near->numa_nodes) text += " node " + std::to_string(node);
  return text;
}

TEST(Matrix, TellsEmptyColumnsByTabs) {
  // nvidia-smi writes two tabs before the last column, this program one.
  for (const std::string tab : {"\t\t", "\t"}) {
    const HostModel host = matrix_of(
        "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
        "GPU0\t X \tNV1\tNV1\t4-5,8\t0" +
        tab +
        "N/A\n"
        "GPU1\tNV1\t X \tNV1\t\t1" +
        tab +
        "N/A\n"
        "GPU2\tNV1\tNV1\t X \t6\t" +
        tab + "9\n");
    EXPECT_EQ(near_text(host, 0), "4-5,8 node 0");
    EXPECT_EQ(near_text(host, 1), " node 1");
    EXPECT_EQ(host.gpus[2].near->cpus.to_text(), "6");
    EXPECT_EQ(host.numa_nodes.back().number, 9);
  }
}

TEST(Matrix, TellsEmptyColumnsByTheHeader) {
  const std::string header =
      "        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
      "GPU0     X      SYS     0-3             0               N/A\n";
  const HostModel aligned =
      matrix_of(header + "GPU1    SYS      X                      1               N/A\n");
  EXPECT_EQ(near_text(aligned, 0), "0-3 node 0");
  EXPECT_EQ(near_text(aligned, 1), " node 1");
  const HostModel expanded = matrix_of(header + "GPU1    SYS      X              1         N/A\n");
  EXPECT_EQ(near_text(expanded, 1), " node 1");
  const HostModel no_nodes =
      matrix_of(header + "GPU1    SYS      X      4-7                             N/A\n");
  EXPECT_EQ(no_nodes.gpus[1].near->cpus.to_text(), "4-7");
}

TEST(Matrix, WarnsOnceOfANodeWhoseCpusDiffer) {
  const HostModel host = matrix_of(
      "GPU0 GPU1 GPU2 CPU Affinity NUMA Affinity\n"
      "GPU0 X SYS SYS 0-3 0\nGPU1 SYS X SYS 0 0\nGPU2 SYS SYS X 1 0\n");
  EXPECT_EQ(warnings_of(host),
            "NUMA node 0 has CPUs 0-3 for one GPU, and 0 for another; the first value is used\n");
}

TEST(Matrix, TellsNodesOfCpusFromNodesOfGpus) {
  const HostModel host = matrix_of(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
      "GPU0\tX\tNV2\tNV2\t0-7\t0,3-4,6-7\t2\n"
      "GPU1\tNV2\tX\tNV2\t0-7\t0,3-4,6-7\t5\n"
      "GPU2\tNV2\tNV2\tX\t8-15\t1,9-10\t8\n");
  std::string nodes;
  for (const NumaNode& node : host.numa_nodes)
    nodes += std::to_string(node.number) +
             (node.kind == MemoryKind::kDevice ? " of a GPU; " : " " + node.cpus.to_text() + "; ");
  EXPECT_EQ(nodes, "0 0-7; 1 8-15; 2 of a GPU; 5 of a GPU; 8 of a GPU; ");
  EXPECT_EQ(near_text(host, 1), "0-7 node 0");
  EXPECT_EQ(near_text(host, 2), "8-15 node 1");
}

TEST(Matrix, MayRepeatTheNodeOfTheCpusAsThatOfTheGpu) {
  const HostModel host = matrix_of(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
      "GPU0\tX\tNV2\tNV2\t0-7\t0\t0\nGPU1\tNV2\tX\tNV2\t0-7\t0\t0\n"
      "GPU2\tNV2\tNV2\tX\t8-15\t1\t1\n");
  ASSERT_EQ(host.numa_nodes.size(), 2U);
  EXPECT_EQ(host.numa_nodes[1].kind, MemoryKind::kOrdinary);
  EXPECT_TRUE(read_host_text({"h.xml", hwloc_xml_text(host)}).ok());
}

constexpr const char* kRocmNodes =
    "=== Numa Nodes ===\n"
    "GPU[0]\t\t: (Topology) Numa Node: 1\nGPU[0]\t\t: (Topology) Numa Affinity: 1\n"
    "GPU[1]\t\t: (Topology) Numa Node: -1\nGPU[1]\t\t: (Topology) Numa Affinity: 0\n"
    "GPU[2]\t\t: (Topology) Numa Node: -1\nGPU[2]\t\t: (Topology) Numa Affinity: -1\n"
    "=== End of ROCm SMI Log ===\n";

TEST(Matrix, OfRocmSmiStatesNodes) {
  const HostModel whole = matrix_of(
      "=== Link Type between two GPUs ===\n"
      "       GPU0         GPU1         GPU2\nGPU0   0            XGMI         XGMI\n"
      "GPU1   XGMI         0            XGMI\nGPU2   XGMI         XGMI         0\n\n" +
      std::string(kRocmNodes));
  const HostModel nodes = read_host_text({"m.txt", kRocmNodes}).value();
  EXPECT_EQ(whole.stated.size(), 3U);
  EXPECT_TRUE(nodes.stated.empty());
  for (const HostModel* const host : {&whole, &nodes}) {
    EXPECT_EQ(host->sources, std::vector<std::string>{"rocm-smi matrix m.txt"});
    ASSERT_EQ(host->gpus.size(), 3U);
    EXPECT_EQ(near_text(*host, 0), " node 1");
    EXPECT_EQ(near_text(*host, 1), " node 0");
    EXPECT_EQ(near_text(*host, 2), "unknown");
  }
}

TEST(Matrix, OfAmdSmiNamesGpusByAddress) {
  const auto table = [](const std::string& title, const std::string& own,
                        const std::string& other) {
    return title + " TABLE:\n             0000:03:00.0 0000:0c:00.0\n0000:03:00.0 " + own + " " +
           other + "\n0000:0c:00.0 " + other + " " + own + "\n";
  };
  const std::string text = table("ACCESS", "ENABLED", "DISABLED") + table("WEIGHT", "0", "15") +
                           table("LINK TYPE", "SELF", "XGMI") + table("NUMA BW", "N/A", "N/A");
  const HostModel host = read_host_text({"m.txt", text}).value();
  EXPECT_EQ(host.sources, std::vector<std::string>{"amd-smi matrix m.txt"});
  ASSERT_EQ(host.gpus.size(), 2U);
  EXPECT_EQ(host.gpus[1].name, "GPU1");
  EXPECT_EQ(host.gpus[1].pci.vendor, 0x1002);
  EXPECT_EQ(to_text(*host.gpus[1].pci.bus), "0000:0c:00.0");
  EXPECT_EQ(path_between(host, gpu(0), gpu(1)).kind, PathKind::kNvl);
}

TEST(Matrix, RefusesWhatIsNone) {
  EXPECT_EQ(matrix_error(""), "m.txt: there is no header line with columns GPU0, GPU1, …");
  EXPECT_EQ(matrix_error("a\nGPU0 X PIX\nGPU1 PIX X\n"),
            "m.txt:2: a row comes before the header line");
  EXPECT_EQ(matrix_error("GPU0 GPU1 GPU0\n"), "m.txt:1: GPU0 has two columns");
  EXPECT_EQ(matrix_error("GPU0 GPU1\nGPU0 X PIX\n"), "m.txt:1: GPU1 has a column but no row");
  EXPECT_EQ(matrix_error("GPU0\nGPU0 X\nGPU1 X\n"), "m.txt:3: GPU1 has a row but no column");
  EXPECT_EQ(matrix_error("GPU0\nGPU0 X\nGPU0 X\n"), "m.txt:3: GPU0 has two rows");
  EXPECT_EQ(matrix_error("GPU0 GPU1\nGPU0 X\nGPU1 PIX X\n"),
            "m.txt:2: GPU0 has 1 cells, expected 2");
  EXPECT_EQ(
      matrix_error("GPU0 GPU1\nGPU0 X PIX\nGPU1 PIX PIX\n"),
      "m.txt:3: GPU1 has \"PIX\" in its own column: a cell is missing, or there is one too many");
  EXPECT_EQ(matrix_error("GPU0\nGPU0 X 0-3\n"),
            "m.txt:2: GPU0 has more cells than there are columns");
  EXPECT_EQ(matrix_error("GPU0 GPU1\nGPU0 X NEAR\nGPU1 PIX X\n"),
            "m.txt:2: \"NEAR\" is not a kind of path");
  EXPECT_EQ(matrix_error("GPU0 GPU1\nGPU0 X NET\nGPU1 NV0 X\n"),
            "m.txt:2: \"NET\" is not a kind of path");
  EXPECT_EQ(matrix_error("GPU0 GPU1\nGPU0 X PIX\nGPU1 NV0 X\n"),
            "m.txt:3: \"NV0\" is not a kind of path");
  EXPECT_EQ(matrix_error("GPU0 CPU Affinity\nGPU0 X 3-0\n"),
            "m.txt:2: CPU Affinity \"3-0\" is not a list of numbers");
  EXPECT_EQ(matrix_error("GPU0 CPU Affinity NUMA Affinity\nGPU0 X 0-3 all\n"),
            "m.txt:2: NUMA Affinity \"all\" is not a list of numbers");
  std::string many;
  for (int i = 0; i < 1025; ++i) many += "GPU" + std::to_string(i) + " ";
  EXPECT_EQ(matrix_error(many), "m.txt:1: more than 1024 columns");
}

TEST(MatrixText, IsAsNvidiaSmiPrintsIt) {
  const std::string text = matrix_text(finished_small_host());
  EXPECT_TRUE(
      text.starts_with("\tGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
                       "GPU0\t X \tNV4\tSYS\tPIX\tSYS\t0-3\t0\tN/A\n"
                       "GPU1\tNV4\t X \tSYS\tPIX\tSYS\t0-3\t0\tN/A\n"
                       "GPU2\tSYS\tSYS\t X \tSYS\tNODE\t4-7\t1\tN/A\n"
                       "NIC0\tPIX\tPIX\tSYS\t X \tSYS\n"
                       "NIC1\tSYS\tSYS\tNODE\tSYS\t X \n"
                       "\nLegend:\n"))
      << text;
  EXPECT_TRUE(text.ends_with("\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n")) << text;
}

TEST(MatrixText, ReadsBackWithTheSameKinds) {
  const HostModel host = finished_small_host();
  const HostModel again = matrix_of(matrix_text(host));
  expect_same_kinds(host, again);
  EXPECT_EQ(again.nics[1].name, "mlx5_1");
  EXPECT_EQ(matrix_text(again), matrix_text(host));
  HostModel bare = host;
  for (Gpu& gpu : bare.gpus) gpu.near = {};
  expect_same_kinds(bare, matrix_of(matrix_text(bare)));
}

TEST(MatrixText, CountsOneLinkWhereNobodyHasCounted) {
  HostModel host = small_host();
  host.links[0].count = 0;
  host = finish(std::move(host), 0).value();
  const HostModel again = matrix_of(matrix_text(host));
  EXPECT_EQ(path_between(again, gpu(0), gpu(1)).kind, PathKind::kNvl);
  EXPECT_EQ(path_between(again, gpu(0), gpu(1)).links, 1);
}

TEST(MatrixText, OfAHostWithoutGpusIsReadToo) {
  HostModel host = small_host();
  host.gpus.clear();
  host.links.clear();
  host = finish(std::move(host), 0).value();
  expect_same_kinds(host, read_host_text({"m.txt", matrix_text(host)}).value());
}

TEST(MatrixText, OfAHostWithoutDevicesIsRefusedAsAMatrix) {
  HostModel host;
  host.cpus = cpus("0-3");
  const auto again = read_host_text({"m.txt", matrix_text(finished(std::move(host)))});
  EXPECT_EQ(again.status().text(),
            "m.txt: there is no header line with columns GPU0, GPU1, \xe2\x80\xa6");
}

// One machine as two tools tell of it.
TEST(Matrix, AgreesWithNcclXmlOfTheSameMachine) {
  const HostModel from_matrix = matrix_of(
      "\tGPU0\tGPU1\tGPU2\tmlx5_0\tmlx5_1\tCPU Affinity\tNUMA Affinity\n"
      "GPU0\tX\tNV2\tSYS\tPIX\tSYS\t0-3\t0\n"
      "GPU1\tNV2\tX\tSYS\tPXB\tSYS\t0-3\t0\n"
      "GPU2\tSYS\tSYS\tX\tSYS\tPHB\t4-7\t1\n"
      "mlx5_0\tPIX\tPXB\tSYS\tX\tSYS\n"
      "mlx5_1\tSYS\tSYS\tPHB\tSYS\tX\n");
  const NamedText xml{"t.xml", R"(<system version="1">
  <cpu numaid="0" affinity="0f">
    <pci busid="01:00.0" class="0x060400">
      <pci busid="02:00.0" class="0x060400">
        <pci busid="03:00.0" class="0x030200"><gpu dev="0">
          <nvlink target="05:00.0" count="2" tclass="0x030200"/></gpu></pci>
        <pci busid="04:00.0" class="0x020700"><nic><net name="mlx5_0"/></nic></pci>
      </pci>
      <pci busid="05:00.0" class="0x030200"><gpu dev="1"/></pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="f0">
    <pci busid="06:00.0" class="0x030200"><gpu dev="2"/></pci>
    <pci busid="07:00.0" class="0x020700"><nic><net name="mlx5_1"/></nic></pci>
  </cpu>
</system>)"};
  const HostModel from_xml = read_nccl_xml(*XmlDocument::parse(xml).value()).value();
  expect_same_kinds(from_matrix, from_xml);
  EXPECT_EQ(from_matrix.numa_nodes, from_xml.numa_nodes);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(from_matrix.gpus[i].near, from_xml.gpus[i].near);
  EXPECT_EQ(from_matrix.nics[0].near, from_xml.nics[0].near);
}

}  // namespace
}  // namespace paceline::topology
