#include "topology/read/plan_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/model/at.h"
#include "topology/read/json_value.h"
#include "topology/read/plan_devices.h"

namespace paceline::topology {
namespace {

using nlohmann::json;

constexpr int kPlanVersion = 1;
constexpr std::size_t kMostRanks = 65536;  // and servers, and hosts
constexpr std::size_t kMostTexts = 65536;
constexpr double kShareSlack = 1e-6;  // by which a sum of shares may be rounded

constexpr std::array<std::string_view, 9> kPlanKeys = {
    "paceline_plan", "world_size", "cost_us", "parts",  "reasons",
    "alternatives",  "hosts",      "ranks",   "servers"};
constexpr std::array<std::string_view, 4> kPlanHostKeys = {"name", "product", "cpus", "gpus"};
constexpr std::array<std::string_view, 8> kRankKeys = {"rank", "host", "cpus",        "numa_nodes",
                                                       "gpu",  "nic",  "shares_cpus", "why"};
constexpr std::array<std::string_view, 8> kServerKeys = {
    "host", "cpus", "numa_nodes", "gpu", "nic", "shares_cpus", "why", "share"};
constexpr std::array<std::string_view, 2> kPartKeys = {"what", "us"};
constexpr std::array<std::string_view, 2> kAlternativeKeys = {"what", "cost_us"};

std::string cpus_text(const CpuSet& cpus) {
  return cpus.is_empty() ? "unknown" : shown(cpus.to_text());
}

Status read_sentence(const JsonValue& from, std::string& into) {
  PACELINE_TRY(read_if_there(from, into));
  into = printable(into);
  return {};
}

// Reads each of a list that may be missing.
template <class T, class Read>
Status read_all(const JsonValue& list, std::size_t most, std::vector<T>& into, Read read) {
  if (!list.is_there()) return {};
  PACELINE_TRY(check_list(list, most));
  into.resize(list.size());
  for (std::size_t i = 0; i < into.size(); ++i) PACELINE_TRY(read(list / i, into[i]));
  return {};
}

Status read_part(const JsonValue& entry, CostPart& into) {
  PACELINE_TRY(check_keys(entry, kPartKeys));
  PACELINE_TRY(read_sentence(entry / "what", into.what));
  return read_if_there(entry / "us", into.us);
}

Status read_alternative(const JsonValue& entry, Alternative& into) {
  PACELINE_TRY(check_keys(entry, kAlternativeKeys));
  PACELINE_TRY(read_sentence(entry / "what", into.what));
  return read_if_there(entry / "cost_us", into.cost_us);
}

// What is occupied of a host: by anybody, and by several.
struct Occupied {
  CpuSet once, twice;

  void add(const CpuSet& cpus) {
    twice.add(once & cpus);
    once.add(cpus);
  }
};

// A rank shares CPUs with other ranks, a server also with them.
void see_shared_cpus(Plan& plan) {
  std::map<int, Occupied> hosts;
  for (const Placed& rank : plan.ranks) hosts[rank.host].add(rank.seat.cpus);
  for (Placed& rank : plan.ranks)
    rank.seat.shares_cpus = hosts[rank.host].twice.has_any(rank.seat.cpus);
  for (const PlacedServer& one : plan.servers) hosts[one.place.host].add(one.place.seat.cpus);
  for (PlacedServer& one : plan.servers)
    one.place.seat.shares_cpus = hosts[one.place.host].twice.has_any(one.place.seat.cpus);
}

class PlanReader {
 public:
  PlanReader(const JsonValue& document, const Cluster& cluster)
      : document_(document), cluster_(cluster), devices_(cluster.machines.size()) {
    for (std::size_t i = 0; i < cluster.hosts.size(); ++i)
      hosts_.emplace(cluster.hosts[i].name, static_cast<int>(i));
  }

  Result<Plan> read() {
    PACELINE_TRY(check_version(document_, "paceline_plan", kPlanVersion));
    PACELINE_TRY(check_keys(document_, kPlanKeys));
    PACELINE_TRY(check_hosts(document_ / "hosts"));
    PACELINE_TRY(read_ranks(document_ / "ranks"));
    PACELINE_TRY(check_world_size(document_ / "world_size"));
    PACELINE_TRY(read_servers(document_ / "servers"));
    PACELINE_TRY(read_if_there(document_ / "cost_us", plan_.cost_us));
    PACELINE_TRY(read_all(document_ / "parts", kMostTexts, plan_.parts, read_part));
    PACELINE_TRY(read_all(document_ / "reasons", kMostTexts, plan_.reasons, read_sentence));
    PACELINE_TRY(
        read_all(document_ / "alternatives", kMostTexts, plan_.alternatives, read_alternative));
    see_shared_cpus(plan_);
    return std::move(plan_);
  }

 private:
  // A plan for another machine: the first difference tells more than the ranks' would.
  Status check_hosts(const JsonValue& hosts) const {
    if (!hosts.is_there()) return {};
    PACELINE_TRY(check_list(hosts, kMostRanks));
    for (std::size_t i = 0; i < hosts.size(); ++i) PACELINE_TRY(check_host(hosts / i));
    return {};
  }

  Status check_host(const JsonValue& entry) const {
    PACELINE_TRY(check_keys(entry, kPlanHostKeys));
    int host = 0;
    PACELINE_TRY(read_host(entry / "name", host));
    PACELINE_TRY(check_product(entry / "product", host));
    PACELINE_TRY(check_cpus(entry / "cpus", host));
    return check_gpus(entry / "gpus", host);
  }

  Status check_product(const JsonValue& from, int host) const {
    std::string planned;
    PACELINE_TRY(read_if_there(from, planned));
    const std::string& product = machine_of(cluster_, host).product;
    if (planned.empty() || product.empty() || planned == product) return {};
    return other_machine(from, in_quotes(planned), host, "is " + in_quotes(product));
  }

  Status check_cpus(const JsonValue& from, int host) const {
    if (!from.is_there()) return {};
    CpuSet planned;
    PACELINE_TRY(read_value(from, planned));
    const CpuSet& there = cpus_of(cluster_, host);
    if (planned == there) return {};
    return other_machine(from, "CPUs " + cpus_text(planned), host, "has " + cpus_text(there));
  }

  Status check_gpus(const JsonValue& from, int host) const {
    if (!from.is_there()) return {};
    int planned = 0;
    PACELINE_TRY(read_value(from, planned));
    const std::size_t there = machine_of(cluster_, host).gpus.size();
    if (at(planned) == there) return {};
    return other_machine(from, std::to_string(planned) + " GPUs", host,
                         "has " + std::to_string(there));
  }

  Status other_machine(const JsonValue& from, const std::string& planned, int host,
                       const std::string& there) const {
    return from.wrong("the plan was made for " + planned + ", but " + name_of(host) + " " + there);
  }

  Status read_ranks(const JsonValue& ranks) {
    PACELINE_TRY(check_list(ranks, kMostRanks));
    if (ranks.size() == 0) return ranks.wrong("must name at least one rank");
    std::vector<bool> is_there(ranks.size());
    plan_.ranks.resize(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const JsonValue entry = ranks / i;
      PACELINE_TRY(check_keys(entry, kRankKeys));
      const JsonValue number = entry / "rank";
      int rank = 0;
      PACELINE_TRY(read_value(number, rank));
      if (at(rank) >= ranks.size())
        return number.wrong("rank " + std::to_string(rank) + " is out of range: 0 to " +
                            std::to_string(ranks.size() - 1));
      if (is_there[at(rank)]) return number.wrong("rank " + std::to_string(rank) + " occurs twice");
      is_there[at(rank)] = true;
      PACELINE_TRY(read_placed(entry, plan_.ranks[at(rank)]));
    }
    return {};
  }

  Status check_world_size(const JsonValue& size) const {
    if (!size.is_there()) return {};
    int planned = 0;
    PACELINE_TRY(read_value(size, planned));
    if (at(planned) == plan_.ranks.size()) return {};
    return size.wrong("must be " + std::to_string(plan_.ranks.size()) + ", the number of ranks");
  }

  Status read_servers(const JsonValue& servers) {
    std::size_t stated = 0;  // shares
    const auto read_server = [&](const JsonValue& entry, PlacedServer& into) {
      PACELINE_TRY(check_keys(entry, kServerKeys));
      const JsonValue share = entry / "share";
      if (share.is_there()) ++stated;
      PACELINE_TRY(read_if_there(share, into.share));
      return read_placed(entry, into.place);
    };
    PACELINE_TRY(read_all(servers, kMostRanks, plan_.servers, read_server));
    return stated > 0 ? check_shares(servers, stated) : share_evenly();
  }

  Status check_shares(const JsonValue& servers, std::size_t stated) const {
    if (stated < plan_.servers.size())
      return servers.wrong("only " + std::to_string(stated) + " of " +
                           std::to_string(plan_.servers.size()) +
                           " servers have a share; set it for all or for none");
    double sum = 0;
    for (const PlacedServer& server : plan_.servers) sum += server.share;
    if (std::abs(sum - 1) <= kShareSlack) return {};
    return servers.wrong("shares sum to " + json(sum).dump() + ", but must sum to 1");
  }

  Status share_evenly() {
    for (PlacedServer& server : plan_.servers)
      server.share = 1 / static_cast<double>(plan_.servers.size());
    return {};
  }

  Status read_placed(const JsonValue& entry, Placed& into) {
    PACELINE_TRY(read_host(entry / "host", into.host));
    Seat& seat = into.seat;
    PACELINE_TRY(read_if_there(entry / "cpus", seat.cpus));
    PACELINE_TRY(check_seat_cpus(entry / "cpus", into));
    const std::string& host = cluster_.hosts[at(into.host)].name;
    const PlanDevices& devices = devices_of(into.host);
    PACELINE_TRY(devices.read_nodes(entry / "numa_nodes", host, seat.numa_nodes));
    PACELINE_TRY(devices.read_gpu(entry / "gpu", host, seat.gpu));
    PACELINE_TRY(devices.read_nic(entry / "nic", host, seat.nic));
    PACELINE_TRY(read_if_there(entry / "shares_cpus", seat.shares_cpus));
    return read_sentence(entry / "why", seat.why);
  }

  Status read_host(const JsonValue& from, int& into) const {
    return read_name(from, hosts_, "host", "", into);
  }

  Status check_seat_cpus(const JsonValue& from, const Placed& placed) const {
    CpuSet odd = placed.seat.cpus;
    odd.remove(cpus_of(cluster_, placed.host));
    if (odd.is_empty()) return {};
    return from.wrong("CPU " + std::to_string(odd.first()) + " is not usable on " +
                      name_of(placed.host) +
                      "; usable CPUs: " + cpus_text(cpus_of(cluster_, placed.host)));
  }

  const PlanDevices& devices_of(int host) {
    const auto machine = at(cluster_.hosts[at(host)].machine);
    if (!devices_[machine]) devices_[machine].emplace(cluster_.machines[machine]);
    return *devices_[machine];
  }

  std::string name_of(int host) const { return "host " + in_quotes(cluster_.hosts[at(host)].name); }

  const JsonValue& document_;
  const Cluster& cluster_;
  Places hosts_;
  std::vector<std::optional<PlanDevices>> devices_;  // by machine, of those that are asked for
  Plan plan_;
};

Result<json> parse_plan(const NamedText& file) {
  if (file.text.size() > kMostPlanBytes)
    return unreadable(file.name, 0, "larger than " + std::to_string(kMostPlanBytes >> 20) + " MiB");
  return parse_json(file);
}

}  // namespace

Result<Plan> read_plan(const NamedText& file, const Cluster& cluster) {
  PACELINE_TRY_ASSIGN(const json document, parse_plan(file));
  return PlanReader(JsonValue(file.name, document), cluster).read();
}

Result<std::vector<PlanHost>> read_plan_hosts(const NamedText& file) {
  PACELINE_TRY_ASSIGN(const json document, parse_plan(file));
  const JsonValue top(file.name, document);
  PACELINE_TRY(check_version(top, "paceline_plan", kPlanVersion));
  const JsonValue ranks = top / "ranks";
  PACELINE_TRY(check_list(ranks, kMostRanks));
  std::vector<PlanHost> hosts;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::string name;
    const JsonValue rank = ranks / i;
    PACELINE_TRY(read_value(rank / "host", name));
    const auto [place, is_new] = places.emplace(name, hosts.size());
    if (is_new) hosts.push_back({.name = name});
    ++hosts[place->second].ranks;
  }
  return hosts;
}

}  // namespace paceline::topology
