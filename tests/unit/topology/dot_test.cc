#include <gtest/gtest.h>

#include "tests/unit/topology/many_hosts.h"
#include "topology/model/finish.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

TEST(Dot, HasClustersForNodesAndEdgesForPcie) {
  HostModel host = small_host();
  host.packages.pop_back();
  host.numa_nodes.pop_back();
  host.cores.resize(4);
  host.bridges.resize(2);
  host.gpus.resize(2);
  host.nics.resize(1);
  EXPECT_EQ(dot_text(finish(std::move(host), 0).value()),
            R"--(graph host {
  graph [label="small\n1 package\n1 NUMA node\n4 cores\n4 CPUs\n64 B\n2 GPUs\n1 NIC", )--"
            R"--(labelloc=t, fontname="sans-serif", rankdir=TB, splines=line];
  node [shape=box, style=filled, fontname="sans-serif", fontsize=10];
  subgraph cluster_package_0 {
    label="package 0";
    subgraph cluster_node_0 {
      label="NUMA node 0\n64 B\nCPUs 0-3\n4 cores";
      bridge_1 [label="switch 0000:02:00.0\nPCIe 15.8 GB/s", fillcolor="#fdf1d8"];
      gpu_0 [label="GPU 0 cuda0\n0000:03:00.0\nPCIe 31.5 GB/s", fillcolor="#d5efdf"];
      bridge_1 -- gpu_0;
      gpu_1 [label="GPU 1 cuda1\n0000:04:00.0\nPCIe 31.5 GB/s", fillcolor="#d5efdf"];
      bridge_1 -- gpu_1;
      nic_0 [label="NIC mlx5_0\nInfiniBand 200 Gbit/s\n0000:08:00.0\nPCIe 31.5 GB/s", )--"
            R"--(fillcolor="#dbe7fb"];
      bridge_1 -- nic_0;
    }
  }
  gpu_0 -- gpu_1 [color="#2f855a", penwidth=2, label="x4"];
}
)--");
}

TEST(Dot, LinksLeadToSwitchesAndPackages) {
  HostModel host = small_host();
  host.links = {{.gpu = 0, .end = LinkEnd::kSwitch},
                {.gpu = 2, .end = LinkEnd::kPackage, .peer = 1, .count = 3}};
  const std::string text = dot_text(finish(std::move(host), 0).value());
  EXPECT_NE(text.find("gpu_0 -- link_switch [color"), std::string::npos) << text;
  EXPECT_NE(text.find("gpu_2 -- package_of_links_1 [color"), std::string::npos) << text;
  EXPECT_NE(text.find("package_of_links_1 [label=\"package 1\""), std::string::npos) << text;
}

// Braces and quotes are balanced, so that no name has got out of its quotes.
TEST(Dot, EveryStringIsEscaped) {
  for (const HostModel& host : many_hosts()) {
    int depth = 0;
    bool in_string = false;
    const std::string text = dot_text(host);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (in_string && text[i] == '\\') {
        ++i;
        continue;
      }
      if (text[i] == '"') in_string = !in_string;
      if (in_string) {
        EXPECT_NE(text[i], '\n');
        continue;
      }
      depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
      EXPECT_NE(text[i], '\\');
      EXPECT_NE(text[i], '<');
    }
    EXPECT_FALSE(in_string);
    EXPECT_EQ(depth, 0);
  }
}

TEST(Dot, HasAClusterForWhatNobodyPlaced) {
  HostModel host{.sources = {"a test"}};
  host.gpus = {{.name = "GPU0"}};
  EXPECT_NE(dot_text(finish(std::move(host), 0).value()).find("subgraph cluster_host {"),
            std::string::npos);
}

}  // namespace
}  // namespace paceline::topology
