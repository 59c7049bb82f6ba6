#include "topology/read/cluster_json.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "tests/unit/topology/many_hosts.h"
#include "topology/render/cluster_text.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

// Files that a description names: one machine, and one file with a mistake.
Result<HostModel> read_beside(const std::string& path) {
  if (path == "/clusters/small.xml") return finished_small_host();
  return unreadable(path, 3, "no XML");
}

Result<DescribedCluster> read(const std::string& text) {
  return read_cluster({"/clusters/c.json", text}, read_beside);
}

// Of two machines; what else is given stands behind them.
std::string with(const std::string& rest) {
  return R"({"paceline_cluster": 1, "machines": {"gpu8": "small.xml", "old": "small.xml"}, )" +
         rest + "}";
}

// Of a cluster of one machine, whose hosts are these.
std::string with_hosts(const std::string& hosts) {
  return R"({"paceline_cluster": 1, "machines": {"m": "small.xml"}, "hosts": )" + hosts + "}";
}

std::string cluster_error(const std::string& text) {
  const std::string error = read(text).status().text();
  const std::string file = "/clusters/c.json: ";
  EXPECT_TRUE(error.starts_with(file)) << error;
  return error.substr(std::min(file.size(), error.size()));
}

std::string error_of_hosts(const std::string& hosts) { return cluster_error(with_hosts(hosts)); }

std::string error_of_ways(const std::string& ways) {
  return cluster_error(
      with(R"("hosts": [{"name": "n[1-3]", "machine": "old"}], "links": )" + ways));
}

void expect_same(const Cluster& a, const Cluster& b) {
  ASSERT_EQ(a.machines.size(), b.machines.size());
  for (std::size_t i = 0; i < a.machines.size(); ++i)
    EXPECT_EQ(model_json_text(a.machines[i]), model_json_text(b.machines[i]));
  EXPECT_EQ(a.hosts, b.hosts);
  EXPECT_EQ(a.ways, b.ways);
  EXPECT_EQ(a.network, b.network);
}

TEST(ClusterJson, ReadsEverythingThatADescriptionMayHold) {
  const auto read = paceline::topology::read_cluster({"/clusters/c.json", R"({
        "paceline_cluster": 1,
        "machines": {"gpu8": )" + model_json_text(eight_gpu_host()) + R"(, "a": "small.xml"},
        "hosts": [{"name": "node[08-10]", "machine": "gpu8", "slots": 8, "cpus": "0-3,8"},
                  {"name": "x,y[1,3]", "machine": "a"}],
        "network": {"mb_per_s": 25000, "latency_us": 5.5},
        "links": [{"from": "x", "to": "node09", "mb_per_s": 12500, "latency_us": 9},
                 {"from": "node08", "to": "node10", "latency_us": 1, "both_directions": true}]})"},
                                                     read_beside);
  ASSERT_TRUE(read.ok()) << read.status().text();
  const Cluster& cluster = read->cluster;
  ASSERT_EQ(cluster.machines.size(), 2U);
  EXPECT_TRUE(same_machine(cluster.machines[0], finished_small_host())) << "by their names";
  EXPECT_TRUE(same_machine(cluster.machines[1], eight_gpu_host()));
  const CpuSet cpus = CpuSet::parse("0-3,8").value();
  EXPECT_EQ(cluster.hosts, (std::vector<ClusterHost>{{"node08", 1, cpus},
                                                     {"node09", 1, cpus},
                                                     {"node10", 1, cpus},
                                                     {"x", 0, {}},
                                                     {"y1", 0, {}},
                                                     {"y3", 0, {}}}));
  EXPECT_EQ(read->slots, (std::vector<std::optional<int>>{8, 8, 8, {}, {}, {}}));
  EXPECT_EQ(cluster.network, (Network{.mb_per_s = 25000, .latency_us = 5.5}));
  EXPECT_EQ(cluster.ways, (std::vector<HostWay>{{0, 2, 0, 1}, {2, 0, 0, 1}, {3, 1, 12500, 9}}));
}

TEST(ClusterJson, WantsNoMoreThanMachinesAndHosts) {
  const auto cluster = read(with_hosts(R"([{"name": "a"}])"));
  ASSERT_TRUE(cluster.ok()) << cluster.status().text();
  EXPECT_EQ(cluster->cluster.hosts, (std::vector<ClusterHost>{{.name = "a"}}));
  EXPECT_EQ(cluster->cluster.network, Network());
  EXPECT_EQ(cluster->slots, (std::vector<std::optional<int>>{{}}));
}

TEST(ClusterJson, IsReadBackAsItWas) {
  Cluster cluster{.machines = many_hosts()};
  std::erase_if(cluster.machines, [](const HostModel& host) {
    return host.name.find('\xff') != std::string::npos;  // JSON is UTF-8
  });
  std::vector<std::optional<int>> slots;
  for (int i = 0; i < 40; ++i) {
    const int machine = i / 3 % static_cast<int>(cluster.machines.size());
    cluster.hosts.push_back({.name = "n" + std::to_string(7 * (i / 5) + i), .machine = machine});
    slots.push_back(i < 20 ? std::nullopt : std::optional(i / 10));
  }
  cluster.hosts[4].cpus.add(cluster.machines[1].cpus.first());
  cluster.network = {.mb_per_s = 1.0 / 3, .latency_us = 0};
  cluster.ways = {{0, 1, 12500.25, 1e-3}, {1, 0, 0, 7}, {39, 2, 1e9, 0}};
  const std::string text = cluster_json_text(cluster, slots);
  const auto again = read(text);
  ASSERT_TRUE(again.ok()) << again.status().text();
  expect_same(again->cluster, cluster);
  EXPECT_EQ(again->slots, slots);
  EXPECT_EQ(cluster_json_text(again->cluster, again->slots), text);
}

TEST(ClusterJson, HostsThatCountUpAreWrittenInOneLine) {
  Cluster cluster{.machines = {finished_small_host()}};
  for (int i = 1; i <= 1024; ++i) cluster.hosts.push_back({.name = "n" + std::to_string(i)});
  cluster.hosts[2].cpus.add(1);
  const std::string text = cluster_json_text(cluster);
  EXPECT_NE(text.find(R"(
  "hosts": [
    {"name":"n[1-2]","machine":"machine1"},
    {"name":"n3","machine":"machine1","cpus":"1"},
    {"name":"n[4-1024]","machine":"machine1"}
  ],
  "network": {"mb_per_s":0.0,"latency_us":20.0},
  "links": []
}
)"),
            std::string::npos)
      << text;
  EXPECT_EQ(read(text)->cluster.hosts, cluster.hosts);
}

TEST(ClusterJson, RefusesWhatIsNoDescription) {
  EXPECT_EQ(read("").status().text(), "/clusters/c.json:1: invalid JSON: unexpected end");
  EXPECT_EQ(cluster_error("[]"), "must be an object");
  EXPECT_EQ(cluster_error("{}"), "paceline_cluster: is missing");
  EXPECT_EQ(cluster_error(R"({"paceline_cluster": 2})"),
            "paceline_cluster: must be 1, the only one that is known");
  EXPECT_EQ(cluster_error(R"({"paceline_cluster": 1, "host": []})"),
            "host: unknown key; known keys are paceline_cluster, machines, hosts, network and "
            "links");
}

TEST(ClusterJson, RefusesMachinesThatCannotBeRead) {
  const auto machines = [](const std::string& text) {
    return cluster_error(R"({"paceline_cluster": 1, "machines": )" + text + "}");
  };
  EXPECT_EQ(cluster_error(R"({"paceline_cluster": 1})"), "machines: is missing");
  EXPECT_EQ(machines("[]"), "machines: must be an object");
  EXPECT_EQ(machines("{}"), "machines: must name at least one machine");
  EXPECT_EQ(machines(R"({"a": 1})"), "machines.a: must be an object");
  EXPECT_EQ(machines(R"({"a": ""})"), "machines.a: \"\" is not a valid file name");
  EXPECT_EQ(machines(R"({"a": "b\u0000"})"), "machines.a: \"b?\" is not a valid file name");
  EXPECT_EQ(machines(R"({"a": "b.xml"})"), "machines.a: /clusters/b.xml:3: no XML");
  EXPECT_EQ(machines(R"({"a": "/b.xml"})"), "machines.a: /b.xml:3: no XML");
  EXPECT_EQ(machines(R"({"a": {"version": 2}})"),
            "machines.a.version: must be 1, the only one that is known");
  std::string many = "{\"0\": \"small.xml\"";
  for (int i = 1; i <= 4096; ++i) many += ", \"" + std::to_string(i) + "\": 0";
  EXPECT_EQ(machines(many + "}"), "machines: has 4097 machines, max 4096");
}

TEST(ClusterJson, AMistakeInAMachineHasItsPlaceInTheWholeFile) {
  std::string text = model_json_text(finished_small_host());
  const auto spoil = [&](const std::string& what, const std::string& by) {
    std::string spoilt = text;
    spoilt.replace(spoilt.find(what), what.size(), by);
    return cluster_error(R"({"paceline_cluster": 1, "machines": {"a": )" + spoilt + "}}");
  };
  EXPECT_EQ(spoil("\"bridge\": 1", "\"bridge\": 4"),
            "machines.a.gpus[0].pci.bridge: 4 is out of range");
  EXPECT_EQ(spoil("\"cpus\": \"0-7\"", "\"cpus\": \"0-x\""),
            "machines.a.cpus: \"0-x\" is not a list of CPUs");
  EXPECT_EQ(spoil("\"kind\": \"switch\"", "\"kind\": \"root\""),
            "machines.a.bridges[1].kind: \"root\" is not one of host and switch");
  EXPECT_EQ(spoil("\"from\": 0", "\"from\": 1"),
            "machines.a.bridges[0].near.from: there is no source 1");
}

TEST(ClusterJson, RefusesHostsThatCannotBe) {
  EXPECT_EQ(cluster_error(with(R"("links": [])")), "hosts: is missing");
  EXPECT_EQ(error_of_hosts("{}"), "hosts: must be a list");
  EXPECT_EQ(error_of_hosts("[]"), "hosts: must name at least one host");
  EXPECT_EQ(error_of_hosts("[1]"), "hosts[0]: must be an object");
  EXPECT_EQ(error_of_hosts("[{}]"), "hosts[0].name: is missing");
  EXPECT_EQ(error_of_hosts(R"([{"nam": 1}])"),
            "hosts[0].nam: unknown key; known keys are name, machine, slots and cpus");
  EXPECT_EQ(error_of_hosts(R"([{"name": 1}])"), "hosts[0].name: must be a text");
  EXPECT_EQ(error_of_hosts(R"([{"name": "a["}])"),
            "hosts[0].name: 'a[' is not a list of hosts like node[01-16,20]");
  EXPECT_EQ(error_of_hosts(R"([{"name": "a\n"}])"),
            "hosts[0].name: \"a?\" is not a valid host name");
  EXPECT_EQ(error_of_hosts(R"([{"name": "a b"}])"),
            "hosts[0].name: \"a b\" is not a valid host name");
  EXPECT_EQ(error_of_hosts(R"([{"name": "b"}, {"name": "a,b"}])"),
            "hosts[1].name: host \"b\" occurs twice");
  EXPECT_EQ(error_of_hosts(R"([{"name": "n[0-65535]"}, {"name": "a"}])"),
            "hosts[1].name: the file has more than 65536 hosts");
}

TEST(ClusterJson, RefusesWhatNoMachineHas) {
  EXPECT_EQ(cluster_error(with(R"("hosts": [{"name": "a"}])")), "hosts[0].machine: is missing");
  EXPECT_EQ(cluster_error(with(R"("hosts": [{"name": "a", "machine": "gpu9"}])")),
            "hosts[0].machine: there is no machine \"gpu9\"; known are: gpu8 and old");
  EXPECT_EQ(error_of_hosts(R"([{"name": "a", "cpus": "6-9"}])"),
            "hosts[0].cpus: CPU 8 is not a CPU of the machine, which has CPUs 0-7");
  EXPECT_EQ(error_of_hosts(R"([{"name": "a", "cpus": ""}])"),
            "hosts[0].cpus: must name at least one CPU; remove the key to use all CPUs");
  EXPECT_EQ(error_of_hosts(R"([{"name": "a", "cpus": "x"}])"),
            "hosts[0].cpus: \"x\" is not a list of CPUs");
  for (const std::string slots : {"0", "65537"})
    EXPECT_EQ(error_of_hosts(R"([{"name": "a", "slots": )" + slots + "}]"),
              "hosts[0].slots: " + slots + " is out of range: 1 to 65536");
  EXPECT_EQ(error_of_hosts(R"([{"name": "a", "slots": -1}])"),
            "hosts[0].slots: -1 is out of range");
  EXPECT_EQ(error_of_hosts(R"([{"name": "a", "slots": 1.5}])"),
            "hosts[0].slots: must be a whole number");
}

TEST(ClusterJson, RefusesNetworksAndWaysThatCannotBe) {
  const auto network = [](const std::string& text) {
    return cluster_error(with(R"("hosts": [{"name": "a", "machine": "old"}], "network": )" + text));
  };
  EXPECT_EQ(network("[]"), "network: must be an object");
  EXPECT_EQ(network(R"({"gbit": 1})"),
            "network.gbit: unknown key; known keys are mb_per_s and latency_us");
  EXPECT_EQ(network(R"({"mb_per_s": "1"})"), "network.mb_per_s: must be a number");
  EXPECT_EQ(network(R"({"latency_us": -0.5})"),
            "network.latency_us: -0.5 is out of range: must be 0 or more");
  EXPECT_EQ(network(R"({"mb_per_s": 1e400})"), "a number is out of range");
  EXPECT_EQ(error_of_ways("{}"), "links: must be a list");
  EXPECT_EQ(error_of_ways("[{}]"), "links[0].from: is missing");
  EXPECT_EQ(error_of_ways(R"([{"from": "n1", "to": "n7"}])"),
            "links[0].to: there is no host \"n7\"; known are: n1, n2 and n3");
  EXPECT_EQ(error_of_ways(R"([{"from": "n1", "to": "n1"}])"),
            "links[0]: `from` and `to` are the same host");
  EXPECT_EQ(error_of_ways(R"([{"from": "n1", "to": "n2"}, {"from": "n1", "to": "n2"}])"),
            "links[1]: the link from n1 to n2 occurs twice");
  EXPECT_EQ(error_of_ways(R"([{"from": "n1", "to": "n2"},
                              {"from": "n2", "to": "n1", "both_directions": true}])"),
            "links[1]: the link from n1 to n2 occurs twice");
  EXPECT_EQ(error_of_ways(R"([{"from": "n1", "to": "n2", "both_directions": 1}])"),
            "links[0].both_directions: must be true or false");
}

TEST(ClusterJson, AnErrorNamesAFewOfManyHosts) {
  EXPECT_EQ(cluster_error(with(R"("hosts": [{"name": "n[01-99]", "machine": "old"}],
                             "links": [{"from": "n0", "to": "n01"}])")),
            "links[0].from: there is no host \"n0\"; known are: n01, n02, n03, n04, n05, n06, n07, "
            "n08 and 91 more");
}

}  // namespace
}  // namespace paceline::topology
