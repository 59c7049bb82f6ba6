// Files of clusters and of plans. What is accepted says the same when it is written and read again,
// and is told to people in lines that fit; what is refused names the file.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/assert.h"
#include "topology/read/cluster_json.h"
#include "topology/read/model_json.h"
#include "topology/read/plan_json.h"
#include "topology/render/cluster_text.h"
#include "topology/render/plain_text.h"
#include "topology/render/plan_text.h"

namespace paceline::topology {
namespace {

constexpr const char* kFile = "file";
constexpr std::size_t kMaxErrorBytes = 4096;  // whatever the file holds
constexpr std::size_t kMostColumns = 100;
constexpr int kMostHosts = 8;  // that get ranks of an accepted cluster

// Hosts a and b: a machine of 8 CPUs, 2 NUMA nodes, 2 GPUs and a NIC; b may use half of it.
constexpr const char* kCluster = R"({"paceline_cluster": 1, "machines": {"m": {
  "version": 1, "name": "m", "product": "A server", "architecture": "", "sources": [],
  "warnings": [], "cpus": "0-7", "withheld": "", "packages": [], "caches": [], "cores": [],
  "numa_nodes": [{"number": 0, "kind": "ordinary", "cpus": "0-3", "memory_bytes": 0},
                 {"number": 1, "kind": "ordinary", "cpus": "4-7", "memory_bytes": 0}],
  "bridges": [],
  "gpus": [{"name": "cuda0", "names": ["cuda0", "nvml0"], "parts": 1, "pci":
              {"bus": {"value": "0000:07:00.0", "from": null}, "vendor": "0x10de",
               "device": "0x0000", "bridge": null}},
           {"name": "cuda1", "names": ["cuda1"], "parts": 1, "pci":
              {"vendor": "0x10de", "device": "0x0000", "bridge": null}}],
  "nics": [{"name": "mlx5_0", "interfaces": [], "kind": "RoCE", "has_rdma": true, "port": 1,
            "pci": {"vendor": "0x15b3", "device": "0x0000", "bridge": null}}],
  "links": [], "stated": []}},
  "hosts": [{"name": "a"}, {"name": "b", "cpus": "4-7"}]})";

Result<HostModel> refuse(const std::string& path) {
  return unreadable(path, 0, "no file is read here");
}

void check_refusal(const Status& status) {
  PACELINE_ASSERT(status.code() == Code::kInvalidArgument);
  PACELINE_ASSERT(status.text().starts_with(kFile));
  PACELINE_ASSERT(status.text().size() < kMaxErrorBytes);
}

void check_same(const Plan& a, const Plan& b) {
  PACELINE_ASSERT(a.ranks == b.ranks && a.servers == b.servers);
  PACELINE_ASSERT(a.cost_us == b.cost_us && a.parts == b.parts);
  PACELINE_ASSERT(a.reasons == b.reasons && a.alternatives == b.alternatives);
}

void check_columns(const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    PACELINE_ASSERT(characters(text.substr(begin, end - begin)) <= kMostColumns);
    begin = end + 1;
  }
}

void check_plan(const Cluster& cluster, const Plan& plan) {
  const std::string text = plan_json_text(cluster, plan);
  const Result<Plan> again = read_plan({kFile, text}, cluster);
  PACELINE_ASSERT(again.ok());
  check_same(*again, plan);
  check_columns(plan_text(cluster, plan));
}

// A rank for each of some hosts, with what the machine has.
Plan some_plan(const Cluster& cluster) {
  Plan plan;
  const int hosts = std::min(kMostHosts, static_cast<int>(cluster.hosts.size()));
  for (int host = 0; host < hosts; ++host) {
    const HostModel& machine = machine_of(cluster, host);
    Seat seat{.cpus = cpus_of(cluster, host), .why = "so"};
    if (!machine.gpus.empty()) seat.gpu = host % static_cast<int>(machine.gpus.size());
    if (!machine.nics.empty()) seat.nic = host % static_cast<int>(machine.nics.size());
    if (!machine.numa_nodes.empty()) seat.numa_nodes = {machine.numa_nodes.front().number};
    plan.ranks.push_back({.host = host, .seat = std::move(seat)});
  }
  return plan;
}

void try_cluster(const std::string& text) {
  const auto read = read_cluster({kFile, text}, refuse);
  if (!read.ok()) return check_refusal(read.status());
  const Cluster& cluster = read->cluster;
  const std::string written = cluster_json_text(cluster, read->slots);
  const auto again = read_cluster({kFile, written}, refuse);
  PACELINE_ASSERT(again.ok());
  PACELINE_ASSERT(again->cluster.hosts == cluster.hosts && again->slots == read->slots);
  PACELINE_ASSERT(again->cluster.ways == cluster.ways && again->cluster.network == cluster.network);
  PACELINE_ASSERT(std::ranges::equal(again->cluster.machines, cluster.machines, same_machine));
  check_plan(cluster, some_plan(cluster));
}

void try_plan(const std::string& text) {
  static const Cluster cluster = read_cluster({kFile, kCluster}, refuse).value().cluster;
  const Result<Plan> plan = read_plan({kFile, text}, cluster);
  if (!plan.ok()) return check_refusal(plan.status());
  check_plan(cluster, *plan);
}

}  // namespace
}  // namespace paceline::topology

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  paceline::topology::try_cluster(text);
  paceline::topology::try_plan(text);
  return 0;
}
