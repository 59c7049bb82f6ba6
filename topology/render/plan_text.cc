#include "topology/render/plan_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "comm/base/host_range.h"
#include "comm/base/text.h"
#include "topology/model/at.h"
#include "topology/render/plain_text.h"
#include "topology/render/seats_text.h"
#include "topology/render/table.h"

namespace paceline::topology {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kIndent = 2;
constexpr std::size_t kMostPieces = 6;      // of the names of a group's hosts
constexpr std::size_t kMostFirstRanks = 4;  // of a group's hosts

// What a plan has on one host.
struct HostSeats {
  int host = 0;
  std::vector<std::size_t> ranks;  // ascending
  std::vector<const PlacedServer*> servers;
};

// In the order in which the plan comes to the hosts.
std::vector<HostSeats> by_host(const Plan& plan) {
  std::vector<HostSeats> hosts;
  std::map<int, std::size_t> places;
  const auto seats_of = [&](int host) -> HostSeats& {
    const auto [found, is_new] = places.emplace(host, hosts.size());
    if (is_new) hosts.push_back({.host = host});
    return hosts[found->second];
  };
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank)
    seats_of(plan.ranks[rank].host).ranks.push_back(rank);
  for (const PlacedServer& server : plan.servers)
    seats_of(server.place.host).servers.push_back(&server);
  return hosts;
}

void append_seat(const Seat& seat, std::string& key) {
  for (const int number : {seat.gpu, seat.nic}) key.append(std::to_string(number)).append("|");
  for (const int node : seat.numa_nodes) key.append(std::to_string(node)).append(",");
  key.append(seat.shares_cpus ? "|+|" : "|-|").append(seat.cpus.to_text()).append("|");
  key.append(seat.why).append("\n");
}

// The same for hosts that are alike.
std::string key_of(const Cluster& cluster, const Plan& plan, const HostSeats& seats) {
  std::string key = std::to_string(cluster.hosts[at(seats.host)].machine) + "\n";
  for (const std::size_t rank : seats.ranks) {
    key.append(std::to_string(rank - seats.ranks.front())).append("|");
    append_seat(plan.ranks[rank].seat, key);
  }
  for (const PlacedServer* server : seats.servers) {
    key.append("server ").append(std::to_string(server->share)).append("|");
    append_seat(server->place.seat, key);
  }
  return key;
}

using AlikeHosts = std::vector<HostSeats>;  // alike

std::vector<AlikeHosts> groups_of(const Cluster& cluster, const Plan& plan) {
  std::vector<AlikeHosts> groups;
  std::map<std::string, std::size_t> places;
  for (HostSeats& seats : by_host(plan)) {
    const auto [found, is_new] = places.emplace(key_of(cluster, plan, seats), groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(std::move(seats));
  }
  return groups;
}

std::string names_text(const Cluster& cluster, const AlikeHosts& group) {
  std::vector<std::string> names;
  for (const HostSeats& seats : group)
    names.push_back(printable(cluster.hosts[at(seats.host)].name));
  return list_text(host_ranges(names), kMostPieces);
}

// "0, 8, 16, 24 and so on".
std::string first_ranks_text(const AlikeHosts& group) {
  std::vector<std::string> firsts;
  for (const HostSeats& seats : group) {
    if (firsts.size() == kMostFirstRanks) return joined(firsts, ", ") + " and so on";
    firsts.push_back(std::to_string(seats.ranks.front()));
  }
  return list_text(firsts);
}

// "node[1-4] (4 hosts with 8 ranks each; first ranks: 0, 8, 16 and 24):".
std::string head_of(const Cluster& cluster, const AlikeHosts& group) {
  std::string text = names_text(cluster, group);
  const HostSeats& one = group.front();
  const std::string ranks = count_text(one.ranks.size(), "rank");
  if (group.size() == 1) return text.append(" (").append(ranks).append("):");
  text.append(" (").append(count_text(group.size(), "host")).append(" with ").append(ranks);
  text.append(" each");
  if (!one.ranks.empty()) text.append("; first ranks: ").append(first_ranks_text(group));
  return text.append("):");
}

std::string server_text(const PlacedServer& server) {
  char share[32];
  std::snprintf(share, sizeof share, "%.3g %% of the parameters", 100 * server.share);
  const std::string& why = server.place.seat.why;
  return why.empty() ? share : std::string(share).append("; ").append(why);
}

std::string group_text(const Cluster& cluster, const Plan& plan, const AlikeHosts& group) {
  const HostSeats& one = group.front();
  std::vector<SeatLine> lines;
  for (const std::size_t rank : one.ranks) {
    const Seat& seat = plan.ranks[rank].seat;
    std::string label(group.size() == 1 ? "" : "+");
    label.append(std::to_string(group.size() == 1 ? rank : rank - one.ranks.front()));
    lines.push_back({.label = std::move(label), .seat = &seat, .why = seat.why});
  }
  for (const PlacedServer* server : one.servers)
    lines.push_back({.label = "server", .seat = &server->place.seat, .why = server_text(*server)});
  return joined(fill_words(head_of(cluster, group), kColumns), "\n") + "\n" +
         seat_lines_text(machine_of(cluster, one.host), lines, kColumns);
}

std::string summary(const Cluster& cluster, const Plan& plan,
                    const std::vector<AlikeHosts>& groups) {
  std::size_t hosts = 0;
  for (const AlikeHosts& group : groups) hosts += group.size();
  std::string text = count_text(plan.ranks.size(), "rank");
  if (!plan.servers.empty()) text.append(" and ").append(count_text(plan.servers.size(), "server"));
  text.append(" on ").append(count_text(hosts, "host"));
  if (hosts < cluster.hosts.size())
    text.append(" of ").append(std::to_string(cluster.hosts.size()));
  if (plan.cost_us > 0)
    text.append("; estimated communication of a step: ").append(time_text(plan.cost_us));
  return text + "\n";
}

// A table of times and what takes them.
template <class Items, class TimeOf>
std::string times_text(const char* title, const Items& items, TimeOf time_of) {
  if (items.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  rows.reserve(items.size());
  for (const auto& item : items) rows.push_back({time_text(time_of(item)), printable(item.what)});
  return std::string("\n").append(title).append("\n").append(
      table_text(rows, {.columns = kColumns, .indent = kIndent}));
}

std::string reasons_text(const std::vector<std::string>& reasons) {
  std::string text = reasons.empty() ? "" : "\nWhy\n";
  for (const std::string& reason : reasons) {
    std::size_t indent = kIndent;
    for (const std::string& line : fill_words(printable(reason), kColumns - 2 * kIndent)) {
      text.append(std::exchange(indent, 2 * kIndent), ' ').append(line).append("\n");
    }
  }
  return text;
}

}  // namespace

std::string plan_text(const Cluster& cluster, const Plan& plan) {
  const std::vector<AlikeHosts> groups = groups_of(cluster, plan);
  std::string text = summary(cluster, plan, groups);
  for (const AlikeHosts& group : groups) text.append("\n").append(group_text(cluster, plan, group));
  text.append(times_text("Estimated communication of a step, for assumed sizes", plan.parts,
                         [](const CostPart& one) { return one.us; }));
  text.append(reasons_text(plan.reasons));
  return text.append(times_text("Alternatives", plan.alternatives,
                                [](const Alternative& one) { return one.cost_us; }));
}

}  // namespace paceline::topology
