#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "comm/base/text.h"
#include "tests/unit/topology/host_words.h"
#include "tests/unit/topology/many_hosts.h"
#include "topology/render/plain_text.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Trees, TellWhatLiesInWhat) {
  HostModel host = small_host();
  host.withheld = CpuSet::parse("7").value();
  EXPECT_EQ(tree_text(finish(std::move(host), 0).value(), 80),
            R"(small: 2 packages, 2 NUMA nodes, 8 cores, 7 CPUs, 1 withheld, 128 B, 3 GPUs,
   2 NICs
├─ package 0
│  └─ NUMA node 0: 64 B, CPUs 0-3, 4 cores
│     └─ switch 0000:02:00.0: PCIe 15.8 GB/s
│        ├─ GPU 0 cuda0: 0000:03:00.0, PCIe 31.5 GB/s
│        ├─ GPU 1 cuda1: 0000:04:00.0, PCIe 31.5 GB/s
│        └─ NIC mlx5_0: InfiniBand 200 Gbit/s, 0000:08:00.0, PCIe 31.5 GB/s
└─ package 1
   └─ NUMA node 1: 64 B, CPUs 4-7, withheld 7, 4 cores
      ├─ GPU 2 cuda2: 0000:05:00.0, PCIe 31.5 GB/s
      └─ NIC mlx5_1: InfiniBand 200 Gbit/s, 0000:09:00.0, PCIe 31.5 GB/s
GPU links: NVLink x4: 0-1
GPU  nearest NIC  path
0-1  mlx5_0       PIX, 31.5 GB/s
2    mlx5_1       NODE, 31.5 GB/s
source: a test
)");
}

TEST(Trees, TellOfAMatrixWhatItSays) {
  EXPECT_EQ(tree_text(matrix_host(), 60), R"(host: 1 NUMA node, 8 CPUs, 3 GPUs, 1 NIC
├─ NUMA node 1: CPUs 0-7
│  ├─ GPU 0
│  └─ GPU 1
└─ place unknown
   ├─ GPU 2
   └─ NIC mlx5_0
GPU links: NVL, all pairs x4
GPU  nearest NIC  path
0-1  mlx5_0       PXB, about 15.8 GB/s
2    mlx5_0       SYS, about 15.8 GB/s
source: matrix m.txt
)");
}

TEST(Trees, TellWhatIsAlikeOnce) {
  const std::string text = tree_text(eight_gpu_host(), 100);
  EXPECT_TRUE(has(text,
                  "├─ NUMA node 0: 256 GiB, CPUs 0-15,64-79, 16 cores, 2 threads each, "
                  "2 x L3 32 MiB\n"))
      << text;
  EXPECT_TRUE(has(text, "GPU 7 cuda7: NVIDIA H100 80GB HBM3, 80 GiB, 0000:83:00.0")) << text;
  EXPECT_TRUE(has(text, "\nGPU links: NVLink, all pairs x18\n")) << text;
  EXPECT_TRUE(has(text, "\nsources: sysfs, hwloc XML eight.xml\n")) << text;
}

TEST(Trees, LinksThatDifferAreListed) {
  HostModel host = eight_gpu_host();
  host.links = {{.gpu = 0, .peer = 1, .count = 2},
                {.gpu = 0, .peer = 2, .count = 1},
                {.gpu = 3, .peer = 4, .count = 2},
                {.gpu = 0, .end = LinkEnd::kPackage, .peer = 1, .count = 3}};
  const std::string text = tree_text(host, 100);
  EXPECT_TRUE(has(text,
                  "GPU links: NVLink x1: 0-2\nGPU links: NVLink x2: 0-1, 3-4\n"
                  "GPU links: NVLink x3: 0-package 1\n"))
      << text;
  host.links.clear();
  for (int i = 0; i < 8; ++i)
    host.links.push_back({.kind = LinkKind::kXgmi, .gpu = i, .end = LinkEnd::kSwitch});
  EXPECT_TRUE(has(tree_text(host, 100), "GPU links: XGMI, all GPUs to switches\n"));
}

TEST(Trees, MemoryOfSeveralPackagesStandsBesideThem) {
  const std::string text = tree_text(odd_memory_host(), 100);
  EXPECT_TRUE(has(text, "\n├─ NUMA node 3: 64 B, CPUs 0-7")) << text;
  EXPECT_TRUE(has(text, "\n├─ NUMA node 7: 16 B, high bandwidth, CPUs 0-7\n")) << text;
  EXPECT_TRUE(has(text, "─ NUMA node 9: 32 B, memory of a GPU\n")) << text;
}

TEST(Trees, EndWithWarnings) {
  HostModel host = finished_small_host();
  host.sources = {"sysfs", "NCCL XML x.xml"};
  host.warnings = {{"GPU cuda0 is in two places: the first one counts", 1}, {"short", kNobody}};
  const std::string text = tree_text(host, 50);
  EXPECT_TRUE(
      text.ends_with("\nsources: sysfs, NCCL XML x.xml\n"
                     "warning: GPU cuda0 is in two places: the first\n"
                     "   one counts (NCCL XML x.xml)\n"
                     "warning: short\n"))
      << text;
}

TEST(Trees, NoLineIsLongerThanAsked) {
  for (const HostModel& host : many_hosts()) {
    for (const std::size_t columns :
         {std::size_t{0}, std::size_t{40}, std::size_t{53}, std::size_t{100}}) {
      std::istringstream lines(tree_text(host, columns));
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(characters(line), std::max(columns, std::size_t{40})) << line;
        EXPECT_EQ(printable(line), line);
      }
    }
  }
}

TEST(PlainText, FillsLinesAndBreaksOnlyWhatIsTooLong) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(fill({"ab", "cd", "ef"}, {.columns = 7}), (Lines{"ab, cd,", "ef"}));
  EXPECT_EQ(fill({"CPUs 0-1,4-5,8-9", "x"}, {.columns = 10}), (Lines{"CPUs 0-1,", "4-5,8-9, x"}));
  EXPECT_EQ(fill({"abcdefgh"}, {.columns = 4}), (Lines{"abc…"}));
  EXPECT_EQ(fill({}, {}), Lines());
  EXPECT_EQ(fill_words(" one  two", 5), (Lines{"one", "two"}));
}

TEST(PlainText, HasNothingThatDisturbs) {
  EXPECT_EQ(xml_escaped("<a b=\"&\">"), "&lt;a b=&quot;&amp;&quot;&gt;");
  EXPECT_EQ(cut("ééé", 2), "é…");
  EXPECT_EQ(cut("ééé", 3), "ééé");
}

TEST(PlainText, NumbersHaveUnits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(std::uint64_t{38} << 20 | 1 << 19), "38.5 MiB");
  EXPECT_EQ(bytes_text(std::uint64_t{503} << 30 | 1 << 29), "504 GiB");
  EXPECT_EQ(speed_text(31508), "31.5 GB/s");
  EXPECT_EQ(rate_text(2500), "2.5 Gbit/s");
  EXPECT_EQ(time_text(0.25), "0.2 us");
  EXPECT_EQ(time_text(999), "999 us");
  EXPECT_EQ(time_text(1000), "1 ms");
  EXPECT_EQ(time_text(12345678), "12.3 s");
  EXPECT_EQ(count_text(1, "GPU"), "1 GPU");
}

}  // namespace
}  // namespace paceline::topology
