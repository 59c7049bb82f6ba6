#include "launcher/head/measured_ways.h"

#include <string>

#include <gtest/gtest.h>

#include "launcher/tools/measure/check/check_json.h"

namespace paceline::launcher {
namespace {

using topology::Cluster;
using topology::HostWay;

std::string checked() {
  probe::Measurements measured;
  measured.hosts = {"b", "a", "gone"};
  measured.facts.resize(3);
  measured.flows = {{.round = 0, .from = 0, .to = 1, .bits_per_s = 800e6},
                    {.round = 1, .from = 0, .to = 1, .bits_per_s = 880e6},
                    {.round = 2, .from = 0, .to = 1, .both_ways = true, .bits_per_s = 990e6},
                    {.round = 0, .from = 1, .to = 0, .bits_per_s = 80e6},
                    {.round = 0, .from = 2, .to = 0, .bits_per_s = 8e6}};
  measured.latencies = {{.round = 0, .from = 0, .to = 1, .best_us = 40},
                        {.round = 1, .from = 0, .to = 1, .best_us = 30}};
  return check_json(measured, {}, {});
}

Cluster cluster_of(const std::vector<std::string>& names) {
  Cluster cluster;
  for (const std::string& name : names) cluster.hosts.push_back({.name = name});
  return cluster;
}

TEST(MeasuredWays, AreTheBestThatWasMeasuredOneWay) {
  Cluster cluster = cluster_of({"a", "b", "c"});
  cluster.ways = {{.from = 0, .to = 1, .mb_per_s = 5}, {.from = 0, .to = 2, .mb_per_s = 7}};
  const Status added = add_measured_ways(cluster, "check.json", checked());
  ASSERT_TRUE(added.ok()) << added.text();
  EXPECT_EQ(cluster.ways,
            (std::vector<HostWay>{{.from = 0, .to = 1, .mb_per_s = 10},
                                  {.from = 0, .to = 2, .mb_per_s = 7},
                                  {.from = 1, .to = 0, .mb_per_s = 110, .latency_us = 30}}));
}

TEST(MeasuredWays, WithoutAFileThereAreNone) {
  Cluster cluster = cluster_of({"a"});
  EXPECT_TRUE(add_measured_ways(cluster, "", "").ok());
  EXPECT_TRUE(cluster.ways.empty());
}

TEST(MeasuredWays, SayWhatIsWrongWithTheFile) {
  Cluster cluster = cluster_of({"x", "y"});
  EXPECT_EQ(add_measured_ways(cluster, "check.json", checked()).text(),
            "check.json: it has no measurement between these hosts");
  EXPECT_EQ(add_measured_ways(cluster, "check.json", "{").text(),
            "check.json: not a JSON document");
  Cluster alone = cluster_of({"x"});
  EXPECT_TRUE(add_measured_ways(alone, "check.json", checked()).ok()) << "there are no ways";
}

}  // namespace
}  // namespace paceline::launcher
