#include "topology/placement/servers/server_rules.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <queue>
#include <string>
#include <utility>

#include "comm/base/text.h"
#include "topology/placement/links/machine_paths.h"
#include "topology/placement/servers/server_ways.h"

namespace paceline::topology {

ServerRules::ServerRules(const Cluster& cluster, const JobShape& job, const HostLinks& links)
    : cluster_(cluster), job_(job), links_(links), is_named_(cluster.hosts.size()) {
  const auto hosts = places_by_name(cluster);
  for (const std::string& name : job.server_hosts) {
    if (const auto found = hosts.find(name); found != hosts.end()) {
      is_named_[static_cast<std::size_t>(found->second)] = true;
    } else {
      unknown_.push_back(std::string("\"").append(printable(name)).append("\""));
    }
  }
}

int ServerRules::spare_hosts() const {
  return job_.servers_on == ServersOn::kDedicated ? job_.servers : 0;
}

Status ServerRules::check(int hosts_with_ranks) const {
  const auto wrong = [](std::string text) {
    return Status(Code::kInvalidArgument, Scope::kOperation, std::move(text));
  };
  if (job_.servers <= 0) return {};
  if (job_.servers_on == ServersOn::kHosts) {
    if (!unknown_.empty())
      return wrong("servers cannot be on " + list_text(unknown_, 5) + ": not a host of this job");
    if (job_.server_hosts.empty())
      return wrong("servers must be on named hosts, but no host is named");
  }
  const int hosts = static_cast<int>(cluster_.hosts.size());
  if (spare_hosts() <= hosts - hosts_with_ranks) return {};
  return {Code::kExhausted, Scope::kOperation,
          std::to_string(job_.servers) + " servers need hosts without ranks, but only " +
              std::to_string(hosts - hosts_with_ranks) + " of " + std::to_string(hosts) +
              " hosts can be without ranks; use more hosts or fewer servers, or place servers "
              "beside ranks (spread)"};
}

std::optional<ServerSplit> ServerRules::split(const std::vector<int>& host_of) const {
  const double mb = job_.dimensions[carried_by_servers(job_)].mb_a_step;
  std::vector<ServerSite> sites;
  sites.reserve(static_cast<std::size_t>(links_.hosts()));
  for (int host = 0; host < links_.hosts(); ++host)
    sites.push_back({.us_per_mb = slower(&HostLinks::host_us_per_mb, host),
                     .served_us_per_mb = slower(&HostLinks::best_nic_us_per_mb, host)});
  std::vector<bool> has_ranks(sites.size());
  for (const int host : host_of) {
    sites[static_cast<std::size_t>(host)].push_mb += mb;
    has_ranks[static_cast<std::size_t>(host)] = true;
  }
  int spare = 0, serving = 0;
  for (std::size_t host = 0; host < sites.size(); ++host) {
    const bool is_spare = !has_ranks[host];
    spare += is_spare ? 1 : 0;
    if (job_.servers_on == ServersOn::kDedicated) sites[host].may_serve = is_spare;
    if (job_.servers_on == ServersOn::kHosts) sites[host].may_serve = is_named_[host];
    serving += sites[host].may_serve ? 1 : 0;
  }
  if (spare < spare_hosts() || serving == 0) return {};
  // Several servers of a host have as many NICs, if it has them.
  const int each = std::max(job_.servers / serving, 1);
  for (std::size_t host = 0; host < sites.size(); ++host)
    sites[host].served_us_per_mb /=
        std::clamp(each, 1, std::max(links_.usable_nics_of(static_cast<int>(host)), 1));
  return split_servers(sites, job_.servers);
}

double ServerRules::slower(UsPerMb of, int host) const {
  return std::max((links_.*of)(host, Direction::kOut), (links_.*of)(host, Direction::kIn));
}

double ServerRules::cost_us(const std::vector<int>& host_of) const {
  if (job_.servers <= 0) return 0;
  const std::optional<ServerSplit> found = split(host_of);
  if (!found) return std::numeric_limits<double>::infinity();
  ServerTraffic traffic{.ranks = std::vector<int>(cluster_.hosts.size()),
                        .servers = servers_by_host(*found),
                        .shares = found->shares,
                        .mb = job_.dimensions[carried_by_servers(job_)].mb_a_step};
  for (const int host : host_of) ++traffic.ranks[static_cast<std::size_t>(host)];
  const ServerWays ways = server_ways(links_, traffic);
  double busiest_us = found->us, latest_us = ways.latest_us;
  for (int way = 0; way < links_.ways(); ++way)
    busiest_us =
        std::max(busiest_us, ways.mb[static_cast<std::size_t>(way)] * links_.way_us_per_mb(way));
  for (std::size_t host = 0; host < traffic.ranks.size(); ++host) {
    if (traffic.ranks[host] == 0 || traffic.servers[host] == 0) continue;
    const double share = traffic.shares[host] / traffic.servers[host];
    busiest_us = std::max(busiest_us, share * traffic.mb * kMemoryHop.us_per_mb);
    latest_us = std::max(latest_us, kMemoryHop.latency_us);
  }
  return busiest_us + 2 * latest_us;
}

std::vector<int> ServerRules::servers_by_host(const ServerSplit& split) const {
  std::vector<int> servers(split.shares.size());
  int left = job_.servers;
  for (std::size_t host = 0; host < servers.size(); ++host) {
    if (split.shares[host] <= 0 || left == 0) continue;
    servers[host] = 1;
    --left;
  }
  const auto of_one_more = [&](std::size_t host) {
    return split.shares[host] / (servers[host] + 1);
  };
  std::priority_queue<std::pair<double, std::ptrdiff_t>> next;  // of equal ones the first host
  for (std::size_t host = 0; host < servers.size(); ++host)
    next.emplace(of_one_more(host), -static_cast<std::ptrdiff_t>(host));
  for (; left > 0; --left) {
    const auto host = static_cast<std::size_t>(-next.top().second);
    next.pop();
    ++servers[host];
    next.emplace(of_one_more(host), -static_cast<std::ptrdiff_t>(host));
  }
  return servers;
}

}  // namespace paceline::topology
