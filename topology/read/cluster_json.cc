#include "topology/read/cluster_json.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "comm/base/host_range.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/read/json_value.h"
#include "topology/read/model_json.h"

namespace paceline::topology {
namespace {

using nlohmann::json;

constexpr int kClusterVersion = 1;
constexpr std::size_t kMostMachines = 4096;
constexpr std::size_t kMostWays = std::size_t{1} << 20;
constexpr int kMostSlots = 65536;

constexpr std::array<std::string_view, 5> kClusterKeys = {"paceline_cluster", "machines", "hosts",
                                                          "network", "links"};
constexpr std::array<std::string_view, 4> kClusterHostKeys = {"name", "machine", "slots", "cpus"};
constexpr std::array<std::string_view, 2> kNetworkKeys = {"mb_per_s", "latency_us"};
constexpr std::array<std::string_view, 5> kWayKeys = {"from", "to", "mb_per_s", "latency_us",
                                                      "both_directions"};

bool is_host_name(const std::string& name) {
  return !name.empty() && name.size() <= kMostHostNameBytes && name.front() != '-' &&
         name.find(' ') == std::string::npos && printable(name) == name;
}

class ClusterReader {
 public:
  ClusterReader(const JsonValue& document, const MachineReader& read_machine)
      : document_(document), read_file_(read_machine) {}

  Result<DescribedCluster> read() {
    PACELINE_TRY(check_version(document_, "paceline_cluster", kClusterVersion));
    PACELINE_TRY(check_keys(document_, kClusterKeys));
    PACELINE_TRY(read_machines(document_ / "machines"));
    PACELINE_TRY(read_hosts(document_ / "hosts"));
    PACELINE_TRY(read_network(document_ / "network"));
    PACELINE_TRY(read_ways(document_ / "links"));
    return std::move(described_);
  }

 private:
  Status read_machines(const JsonValue& machines) {
    if (!machines.is_there()) return machines.wrong("is missing");
    if (!(*machines).is_object()) return machines.wrong("must be an object");
    if (machines.size() == 0) return machines.wrong("must name at least one machine");
    if (machines.size() > kMostMachines)
      return machines.wrong("has " + std::to_string(machines.size()) + " machines, max " +
                            std::to_string(kMostMachines));
    for (const auto& [name, described] : (*machines).items()) {
      const JsonValue machine = machines / std::string_view(name);
      PACELINE_TRY_ASSIGN(HostModel model, read_machine(machine));
      machines_.emplace(name, static_cast<int>(cluster().machines.size()));
      cluster().machines.push_back(std::move(model));
    }
    return {};
  }

  Result<HostModel> read_machine(const JsonValue& machine) const {
    if (!machine.is_text()) return read_model_value(machine);
    std::string name;
    PACELINE_TRY(read_value(machine, name));
    if (name.empty() || printable(name) != name)
      return machine.wrong(in_quotes(name) + " is not a valid file name");
    const auto folder = std::filesystem::path(machine.file()).parent_path();
    Result<HostModel> model = read_file_((folder / name).string());
    if (!model.ok()) return machine.wrong(model.status().text());
    return model;
  }

  Status read_hosts(const JsonValue& hosts) {
    PACELINE_TRY(check_list(hosts, kMostHosts));
    if (hosts.size() == 0) return hosts.wrong("must name at least one host");
    for (std::size_t i = 0; i < hosts.size(); ++i) PACELINE_TRY(read_host(hosts / i));
    return {};
  }

  // One or, with a range, several.
  Status read_host(const JsonValue& entry) {
    PACELINE_TRY(check_keys(entry, kClusterHostKeys));
    ClusterHost host;
    std::optional<int> slots;
    PACELINE_TRY(read_host_machine(entry / "machine", host.machine));
    PACELINE_TRY(read_slots(entry / "slots", slots));
    PACELINE_TRY(read_cpus(entry / "cpus", host));
    const JsonValue name = entry / "name";
    PACELINE_TRY_ASSIGN(const std::vector<std::string> names, read_names(name));
    if (cluster().hosts.size() + names.size() > kMostHosts)
      return name.wrong("the file has more than " + std::to_string(kMostHosts) + " hosts");
    for (const std::string& one : names) {
      if (!hosts_.emplace(one, static_cast<int>(cluster().hosts.size())).second)
        return name.wrong("host " + in_quotes(one) + " occurs twice");
      host.name = one;
      cluster().hosts.push_back(host);
      described_.slots.push_back(slots);
    }
    return {};
  }

  static Result<std::vector<std::string>> read_names(const JsonValue& name) {
    std::string text;
    PACELINE_TRY(read_value(name, text));
    Result<std::vector<std::string>> names = expand_hosts(text);
    if (!names.ok()) return name.wrong(names.status().text());
    const auto odd = std::ranges::find_if_not(*names, is_host_name);
    if (odd != names->end()) return name.wrong(in_quotes(*odd) + " is not a valid host name");
    return names;
  }

  Status read_host_machine(const JsonValue& machine, int& into) const {
    if (!machine.is_there() && machines_.size() == 1) return {};
    return read_name(machine, machines_, "machine", "", into);
  }

  static Status read_slots(const JsonValue& from, std::optional<int>& into) {
    if (!from.is_there()) return {};
    PACELINE_TRY(read_value(from, into.emplace()));
    if (*into >= 1 && *into <= kMostSlots) return {};
    return from.wrong(std::to_string(*into) + " is out of range: 1 to " +
                      std::to_string(kMostSlots));
  }

  Status read_cpus(const JsonValue& from, ClusterHost& into) {
    if (!from.is_there()) return {};
    PACELINE_TRY(read_value(from, into.cpus));
    const CpuSet& there = cluster().machines[static_cast<std::size_t>(into.machine)].cpus;
    CpuSet odd = into.cpus;
    odd.remove(there);
    if (odd.is_empty() && !into.cpus.is_empty()) return {};
    if (into.cpus.is_empty())
      return from.wrong("must name at least one CPU; remove the key to use all CPUs");
    return from.wrong("CPU " + std::to_string(odd.first()) +
                      " is not a CPU of the machine, which has " +
                      (there.is_empty() ? "no known CPUs" : "CPUs " + shown(there.to_text())));
  }

  Status read_network(const JsonValue& network) {
    if (!network.is_there()) return {};
    PACELINE_TRY(check_keys(network, kNetworkKeys));
    PACELINE_TRY(read_if_there(network / "mb_per_s", cluster().network.mb_per_s));
    return read_if_there(network / "latency_us", cluster().network.latency_us);
  }

  Status read_ways(const JsonValue& ways) {
    if (!ways.is_there()) return {};
    PACELINE_TRY(check_list(ways, kMostWays));
    std::map<std::pair<int, int>, HostWay> all;
    for (std::size_t i = 0; i < ways.size(); ++i) PACELINE_TRY(read_way(ways / i, all));
    std::ranges::transform(all, std::back_inserter(cluster().ways),
                           [](const auto& one) { return one.second; });
    return {};
  }

  Status read_way(const JsonValue& entry, std::map<std::pair<int, int>, HostWay>& into) const {
    PACELINE_TRY(check_keys(entry, kWayKeys));
    HostWay way;
    bool both_ways = false;
    PACELINE_TRY(read_name(entry / "from", hosts_, "host", "", way.from));
    PACELINE_TRY(read_name(entry / "to", hosts_, "host", "", way.to));
    PACELINE_TRY(read_if_there(entry / "mb_per_s", way.mb_per_s));
    PACELINE_TRY(read_if_there(entry / "latency_us", way.latency_us));
    PACELINE_TRY(read_if_there(entry / "both_directions", both_ways));
    if (way.from == way.to) return entry.wrong("`from` and `to` are the same host");
    HostWay back = way;
    std::swap(back.from, back.to);
    if (!into.emplace(std::pair(way.from, way.to), way).second) return told_twice(entry, way);
    if (both_ways && !into.emplace(std::pair(back.from, back.to), back).second)
      return told_twice(entry, back);
    return {};
  }

  Status told_twice(const JsonValue& entry, const HostWay& way) const {
    const auto name = [&](int host) {
      return described_.cluster.hosts[static_cast<std::size_t>(host)].name;
    };
    return entry.wrong("the link from " + name(way.from) + " to " + name(way.to) + " occurs twice");
  }

  Cluster& cluster() { return described_.cluster; }

  const JsonValue& document_;
  const MachineReader& read_file_;
  Places machines_, hosts_;  // in the cluster
  DescribedCluster described_;
};

}  // namespace

Result<DescribedCluster> read_cluster(const NamedText& file, const MachineReader& read_machine) {
  PACELINE_TRY_ASSIGN(const json document, parse_json(file));
  return ClusterReader(JsonValue(file.name, document), read_machine).read();
}

}  // namespace paceline::topology
