#include "topology/render/cluster_text.h"

#include <cstddef>
#include <string_view>
#include <vector>

#include "comm/base/host_range.h"
#include "topology/render/json_lines.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

constexpr int kClusterVersion = 1;

// With as many digits as the last one has, so that the order of names is that of the machines.
std::string machine_name(std::size_t place, std::size_t machines) {
  const std::string number = std::to_string(place + 1);
  const std::size_t zeros = std::to_string(machines).size() - number.size();
  return std::string("machine").append(zeros, '0').append(number);
}

// A machine's own text, moved to the right. Texts in JSON have no line ends of their own.
void append_machine(const HostModel& machine, std::string& text) {
  const std::string lines = model_json_text(machine);
  for (const char c : std::string_view(lines).substr(0, lines.size() - 1)) {
    text += c;
    if (c == '\n') text.append("    ");
  }
}

std::string machines_text(const Cluster& cluster) {
  std::string text;
  for (std::size_t i = 0; i < cluster.machines.size(); ++i) {
    text.append(i == 0 ? "\n    \"" : ",\n    \"");
    text.append(machine_name(i, cluster.machines.size())).append("\": ");
    append_machine(cluster.machines[i], text);
  }
  return text;
}

bool are_alike(const ClusterHost& a, const ClusterHost& b) {
  return a.machine == b.machine && a.cpus == b.cpus;
}

// The hosts of `cluster` from `first` on that differ in their names alone.
std::size_t count_alike(const Cluster& cluster, std::span<const std::optional<int>> slots,
                        std::size_t first) {
  std::size_t count = 1;
  for (std::size_t next = first + 1; next < cluster.hosts.size(); ++next, ++count) {
    const bool same_slots = slots.empty() || slots[first] == slots[next];
    if (!same_slots || !are_alike(cluster.hosts[first], cluster.hosts[next])) break;
  }
  return count;
}

std::vector<std::string> host_lines(const Cluster& cluster,
                                    std::span<const std::optional<int>> slots) {
  std::vector<std::string> lines, names;
  for (const ClusterHost& host : cluster.hosts) names.push_back(host.name);
  for (std::size_t first = 0; first < cluster.hosts.size();) {
    const std::size_t count = count_alike(cluster, slots, first);
    const ClusterHost& host = cluster.hosts[first];
    for (const std::string& piece : host_ranges(std::span(names).subspan(first, count))) {
      const auto machine = static_cast<std::size_t>(host.machine);
      Json line = {{"name", piece}, {"machine", machine_name(machine, cluster.machines.size())}};
      if (!slots.empty() && slots[first]) line["slots"] = *slots[first];
      if (!host.cpus.is_empty()) line["cpus"] = host.cpus.to_text();
      lines.push_back(compact(line));
    }
    first += count;
  }
  return lines;
}

std::vector<std::string> way_lines(const Cluster& cluster) {
  const auto name = [&](int host) { return cluster.hosts[static_cast<std::size_t>(host)].name; };
  std::vector<std::string> lines;
  for (const HostWay& way : cluster.ways)
    lines.push_back(compact({{"from", name(way.from)},
                             {"to", name(way.to)},
                             {"mb_per_s", way.mb_per_s},
                             {"latency_us", way.latency_us}}));
  return lines;
}

void append_list(const char* key, const std::vector<std::string>& lines, std::string& text) {
  text.append(",\n  \"").append(key).append("\": [");
  for (const std::string& line : lines)
    text.append(&line == &lines.front() ? "\n    " : ",\n    ").append(line);
  text.append(lines.empty() ? "]" : "\n  ]");
}

}  // namespace

std::string cluster_json_text(const Cluster& cluster, std::span<const std::optional<int>> slots) {
  std::string text = "{\n  \"paceline_cluster\": ";
  text.append(std::to_string(kClusterVersion));
  text.append(",\n  \"machines\": {").append(machines_text(cluster)).append("\n  }");
  append_list("hosts", host_lines(cluster, slots), text);
  text.append(",\n  \"network\": ");
  text.append(compact(
      {{"mb_per_s", cluster.network.mb_per_s}, {"latency_us", cluster.network.latency_us}}));
  append_list("links", way_lines(cluster), text);
  return text.append("\n}\n");
}

}  // namespace paceline::topology
