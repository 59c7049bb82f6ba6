#include "topology/placement/cost/cost.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "topology/placement/cost/traffic.h"
#include "topology/placement/host/nic_choice.h"
#include "topology/placement/links/host_links.h"
#include "topology/placement/links/machine_paths.h"
#include "topology/placement/servers/server_ways.h"

namespace paceline::topology {
namespace {

constexpr Direction kWays[] = {Direction::kOut, Direction::kIn};

// What each resource of the network carries in one part, in MB, each way.
struct Carried {
  std::vector<double> hosts[2], nics[2], ranks[2];
  std::vector<double> ways;
};

// The slowest so far.
struct Slowest {
  double busiest_us = 0, latest_us = 0;

  void offer(double busy_us, double late_us) {
    busiest_us = std::max(busiest_us, busy_us);
    latest_us = std::max(latest_us, late_us);
  }
};

class Costing {
 public:
  Costing(const Cluster& cluster, const JobShape& job, const std::vector<Placed>& ranks,
          const std::vector<PlacedServer>& servers)
      : cluster_(cluster), job_(job), ranks_(ranks), servers_(servers), links_(cluster) {
    for (const HostModel& machine : cluster.machines) paths_.emplace_back(machine);
    first_nic_.push_back(0);
    for (int host = 0; host < links_.hosts(); ++host)
      first_nic_.push_back(first_nic_.back() + machine_of(cluster, host).nics.size());
    find_nics();
  }

  std::vector<CostPart> parts() {
    std::vector<CostPart> parts;
    for (const TrafficPart& part : parts_of(job_))
      parts.push_back({.what = part.what, .us = part_us(part)});
    if (!servers_.empty())
      parts.push_back({.what = "servers: buffers of " + std::to_string(ranks_.size()) +
                               " ranks to " + std::to_string(servers_.size()) + " servers and back",
                       .us = servers_us()});
    return parts;
  }

 private:
  bool is_on_one_host() const {
    const int first = ranks_.empty() ? 0 : ranks_.front().host;
    return std::ranges::all_of(ranks_, [&](const Placed& rank) { return rank.host == first; }) &&
           std::ranges::all_of(
               servers_, [&](const PlacedServer& server) { return server.place.host == first; });
  }

  // Of ranks whose seats say nothing.
  void find_nics() {
    std::vector<std::vector<int>> without(cluster_.hosts.size());
    nics_.assign(ranks_.size(), kNone);
    if (is_on_one_host()) return;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      nics_[rank] = ranks_[rank].seat.nic;
      if (nics_[rank] == kNone)
        without[static_cast<std::size_t>(ranks_[rank].host)].push_back(static_cast<int>(rank));
    }
    for (std::size_t host = 0; host < without.size(); ++host) {
      const HostModel& machine = machine_of(cluster_, static_cast<int>(host));
      if (without[host].empty() || machine.nics.empty()) continue;
      std::vector<DataPlace> places;
      for (const int rank : without[host]) {
        const Seat& seat = at(rank).seat;
        places.push_back({.gpu = seat.gpu});
        if (seat.gpu == kNone && !seat.numa_nodes.empty())
          places.back().node = seat.numa_nodes.front();
      }
      const NicChoice choice = choose_nics(machine, places);
      for (std::size_t i = 0; i < places.size(); ++i)
        nics_[static_cast<std::size_t>(without[host][i])] = choice.nics[i];
    }
  }

  const Placed& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  MachinePaths& paths_of(int host) {
    return paths_[static_cast<std::size_t>(cluster_.hosts[static_cast<std::size_t>(host)].machine)];
  }

  void begin() {
    slowest_ = {};
    for (const Direction way : kWays) {
      const auto i = static_cast<std::size_t>(way);
      carried_.hosts[i].assign(cluster_.hosts.size(), 0);
      carried_.nics[i].assign(first_nic_.back(), 0);
      carried_.ranks[i].assign(ranks_.size(), 0);
    }
    carried_.ways.assign(cluster_.ways.size(), 0);
  }

  double part_us(const TrafficPart& part) {
    begin();
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
      for_each_receiver(part, rank, [&](int peer) { send(rank, peer, part.mb); });
    for (const auto& by_rank : carried_.ranks) leave_memory(by_rank);
    return time_us(part.rounds);
  }

  void leave_memory(const std::vector<double>& carried) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (ranks_[rank].seat.gpu == kNone) slowest_.offer(carried[rank] * kMemoryHop.us_per_mb, 0);
  }

  void send(int from, int to, double mb) {
    const Placed &a = at(from), &b = at(to);
    if (a.host == b.host) {
      const Hop hop = paths_of(a.host).between(a.seat, b.seat);
      return slowest_.offer(mb * hop.us_per_mb, hop.latency_us);
    }
    cross_by(from, Direction::kOut, mb);
    cross_by(to, Direction::kIn, mb);
    const int way = links_.way(a.host, b.host);
    slowest_.offer(0, way == kNone ? links_.latency_us() : links_.way_latency_us(way));
    if (way != kNone) carried_.ways[static_cast<std::size_t>(way)] += mb;
  }

  void cross_by(int rank, Direction direction, double mb) {
    const auto i = static_cast<std::size_t>(direction);
    const int host = at(rank).host;
    carried_.hosts[i][static_cast<std::size_t>(host)] += mb;
    carried_.ranks[i][static_cast<std::size_t>(rank)] += mb;
    carry_by_nic(host, nics_[static_cast<std::size_t>(rank)], direction, mb);
  }

  void carry_by_nic(int host, int nic, Direction direction, double mb) {
    if (nic == kNone) return;
    carried_.nics[static_cast<std::size_t>(direction)]
                 [first_nic_[static_cast<std::size_t>(host)] + static_cast<std::size_t>(nic)] += mb;
  }

  double time_us(int rounds) {
    for (const Direction direction : kWays) offer_all(direction);
    for (int way = 0; way < links_.ways(); ++way)
      slowest_.offer(carried_.ways[static_cast<std::size_t>(way)] * links_.way_us_per_mb(way), 0);
    return rounds * slowest_.latest_us + slowest_.busiest_us;
  }

  void offer_all(Direction direction) {
    const auto i = static_cast<std::size_t>(direction);
    for (std::size_t host = 0; host < cluster_.hosts.size(); ++host) {
      const int number = static_cast<int>(host);
      slowest_.offer(carried_.hosts[i][host] * links_.host_us_per_mb(number, direction), 0);
      for (std::size_t nic = first_nic_[host]; nic < first_nic_[host + 1]; ++nic)
        if (carried_.nics[i][nic] > 0)
          slowest_.offer(
              carried_.nics[i][nic] *
                  links_.nic_us_per_mb(number, static_cast<int>(nic - first_nic_[host]), direction),
              0);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const Placed& placed = ranks_[rank];
      if (carried_.ranks[i][rank] <= 0 || nics_[rank] == kNone || placed.seat.gpu == kNone)
        continue;
      slowest_.offer(
          carried_.ranks[i][rank] * paths_of(placed.host).us_to_nic(placed.seat.gpu, nics_[rank]),
          0);
    }
  }

  // Each rank with each server, host by host: there may be thousands of both.
  double servers_us() {
    begin();
    const double mb = job_.dimensions[carried_by_servers(job_)].mb_a_step;
    const std::size_t hosts = cluster_.hosts.size();
    ServerTraffic traffic{.ranks = std::vector<int>(hosts),
                          .servers = std::vector<int>(hosts),
                          .shares = std::vector<double>(hosts),
                          .mb = mb};
    std::vector<std::vector<const PlacedServer*>> on_host(hosts);
    for (const PlacedServer& server : servers_) {
      const auto host = static_cast<std::size_t>(server.place.host);
      traffic.shares[host] += server.share;
      ++traffic.servers[host];
      on_host[host].push_back(&server);
    }
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
      const auto host = static_cast<std::size_t>(at(rank).host);
      ++traffic.ranks[host];
      for (const Direction way : kWays) cross_by(rank, way, mb * (1 - traffic.shares[host]));
      for (const PlacedServer* const server : on_host[host]) {
        const Hop hop = paths_of(at(rank).host).between(at(rank).seat, server->place.seat);
        slowest_.offer(server->share * mb * hop.us_per_mb, hop.latency_us);
      }
    }
    serve(traffic);
    ServerWays ways = server_ways(links_, traffic);
    carried_.ways = std::move(ways.mb);
    slowest_.offer(0, ways.latest_us);
    return time_us(2);
  }

  // What servers get from other hosts' ranks, and send back.
  void serve(const ServerTraffic& traffic) {
    for (const PlacedServer& server : servers_) {
      const auto host = static_cast<std::size_t>(server.place.host);
      const int others = static_cast<int>(ranks_.size()) - traffic.ranks[host];
      const double served = server.share * traffic.mb * others;
      for (const Direction direction : kWays) {
        carried_.hosts[static_cast<std::size_t>(direction)][host] += served;
        carry_by_nic(server.place.host, server.place.seat.nic, direction, served);
      }
    }
  }

  const Cluster& cluster_;
  const JobShape& job_;
  const std::vector<Placed>& ranks_;
  const std::vector<PlacedServer>& servers_;
  HostLinks links_;
  std::vector<MachinePaths> paths_;     // by machine
  std::vector<std::size_t> first_nic_;  // by host, of all hosts' NICs in a row; and the end
  std::vector<int> nics_;               // by rank
  Carried carried_;
  Slowest slowest_;
};

}  // namespace

std::vector<CostPart> cost_parts(const Cluster& cluster, const JobShape& job,
                                 const std::vector<Placed>& ranks,
                                 const std::vector<PlacedServer>& servers) {
  return Costing(cluster, job, ranks, servers).parts();
}

}  // namespace paceline::topology
