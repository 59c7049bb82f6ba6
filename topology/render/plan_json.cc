#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "topology/model/at.h"
#include "topology/model/device_names.h"
#include "topology/render/json_lines.h"
#include "topology/render/plan_text.h"

namespace paceline::topology {
namespace {

constexpr int kPlanVersion = 1;

struct DeviceNames {
  std::vector<std::string> gpus, nics;
};

class PlanWriter {
 public:
  PlanWriter(const Cluster& cluster, const Plan& plan)
      : cluster_(cluster), plan_(plan), names_(cluster.machines.size()) {
    for (const Placed& placed : plan.ranks) add_host(placed.host);
    for (const PlacedServer& server : plan.servers) add_host(server.place.host);
  }

  std::string text() {
    constexpr std::size_t kBytesOfRank = 256;
    text_.reserve(kBytesOfRank * (plan_.ranks.size() + 8));
    text_.append("{\n  \"paceline_plan\": ").append(std::to_string(kPlanVersion));
    add("world_size", plan_.ranks.size());
    add("cost_us", plan_.cost_us);
    add_list("parts", plan_.parts, [](const CostPart& one) {
      return Json{{"what", one.what}, {"us", one.us}};
    });
    add_list("reasons", plan_.reasons, [](const std::string& one) { return Json(one); });
    add_list("alternatives", plan_.alternatives, [](const Alternative& one) {
      return Json{{"what", one.what}, {"cost_us", one.cost_us}};
    });
    add_list("hosts", hosts_, [&](int host) { return host_json(host); });
    std::size_t rank = 0;
    add_list("ranks", plan_.ranks, [&](const Placed& placed) {
      Json line{{"rank", rank++}};
      add_seat(placed, line);
      return line;
    });
    add_list("servers", plan_.servers, [&](const PlacedServer& server) {
      Json line = Json::object();
      add_seat(server.place, line);
      line["share"] = server.share;
      return line;
    });
    return std::move(text_.append("\n}\n"));
  }

 private:
  void add_host(int host) {
    hosts_.insert(host);
    std::optional<DeviceNames>& names = names_[at(cluster_.hosts[at(host)].machine)];
    if (names) return;
    const HostModel& machine = machine_of(cluster_, host);
    names = {.gpus = gpu_names(machine), .nics = nic_names(machine)};
  }

  // What tells a host from another one of the same name.
  Json host_json(int host) const {
    const HostModel& machine = machine_of(cluster_, host);
    Json facts{{"name", cluster_.hosts[at(host)].name}};
    if (!machine.product.empty()) facts["product"] = machine.product;
    facts["cpus"] = cpus_of(cluster_, host).to_text();
    facts["gpus"] = machine.gpus.size();
    return facts;
  }

  void add_seat(const Placed& placed, Json& line) const {
    const HostModel& machine = machine_of(cluster_, placed.host);
    const DeviceNames& names = *names_[at(cluster_.hosts[at(placed.host)].machine)];
    const Seat& seat = placed.seat;
    line["host"] = cluster_.hosts[at(placed.host)].name;
    if (!seat.cpus.is_empty()) line["cpus"] = seat.cpus.to_text();
    line["numa_nodes"] = seat.numa_nodes;
    Json& gpu = line["gpu"];
    if (seat.gpu != kNone) {
      gpu["name"] = names.gpus[at(seat.gpu)];
      const Fact<BusId>& bus = machine.gpus[at(seat.gpu)].pci.bus;
      if (bus.is_known()) gpu["bus"] = to_text(*bus);
    }
    line["nic"] = seat.nic == kNone ? Json() : Json(names.nics[at(seat.nic)]);
    line["shares_cpus"] = seat.shares_cpus;
    line["why"] = seat.why;
  }

  void add_key(const char* key) { text_.append(",\n  \"").append(key).append("\": "); }

  template <class Value>
  void add(const char* key, const Value& value) {
    add_key(key);
    text_.append(compact(Json(value)));
  }

  // A line for each, so that people find it and programs compare line by line.
  template <class Items, class ToJson>
  void add_list(const char* key, const Items& items, ToJson to_json) {
    add_key(key);
    text_ += '[';
    bool is_first = true;
    for (const auto& item : items) {
      text_.append(std::exchange(is_first, false) ? "\n    " : ",\n    ");
      text_.append(compact(to_json(item)));
    }
    text_.append(items.empty() ? "]" : "\n  ]");
  }

  const Cluster& cluster_;
  const Plan& plan_;
  std::set<int> hosts_;                            // that have a rank or a server
  std::vector<std::optional<DeviceNames>> names_;  // by machine
  std::string text_;
};

}  // namespace

std::string plan_json_text(const Cluster& cluster, const Plan& plan) {
  return PlanWriter(cluster, plan).text();
}

}  // namespace paceline::topology
