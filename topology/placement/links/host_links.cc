#include "topology/placement/links/host_links.h"

#include <algorithm>
#include <cstdint>

#include "topology/placement/host/nic_choice.h"

namespace paceline::topology {
namespace {

// What a host, and a NIC, does of whom nobody has told: 10 Gbit/s, as nic_choice.h has it.
constexpr double kUnknownMbPerS = 1250;

double us_per_mb(double mb_per_s) { return 1e6 / std::max(mb_per_s, 1.0); }

double own_rate(const Nic& nic) {
  double rate = kUnknownMbPerS;
  if (nic.rate_mbit.is_known()) rate = static_cast<double>(*nic.rate_mbit) / 8;
  if (nic.pci.mb_per_s.is_known() && *nic.pci.mb_per_s > 0)
    rate = std::min(rate, static_cast<double>(*nic.pci.mb_per_s));
  return rate;
}

}  // namespace

HostLinks::HostLinks(const Cluster& cluster) : cluster_(cluster) {
  for (const HostModel& machine : cluster.machines) {
    MachineNics& nics = nics_.emplace_back();
    for (const Nic& nic : machine.nics) nics.mb_per_s.push_back(own_rate(nic));
    for (const int nic : usable_nics(machine)) {
      const double rate = nics.mb_per_s[static_cast<std::size_t>(nic)];
      nics.of_usable += rate;
      nics.best = std::max(nics.best, rate);
      nics.has_unknown |= !machine.nics[static_cast<std::size_t>(nic)].rate_mbit.is_known();
      ++nics.usable;
    }
  }
  const std::size_t hosts = cluster.hosts.size();
  std::vector<double> rates[2] = {std::vector<double>(hosts), std::vector<double>(hosts)};
  first_way_from_.assign(hosts + 1, 0);
  for (const HostWay& way : cluster.ways) {
    const auto from = static_cast<std::size_t>(way.from), to = static_cast<std::size_t>(way.to);
    rates[0][from] = std::max(rates[0][from], way.mb_per_s);
    rates[1][to] = std::max(rates[1][to], way.mb_per_s);
    ++first_way_from_[from + 1];
  }
  for (std::size_t host = 0; host < hosts; ++host) {
    first_way_from_[host + 1] += first_way_from_[host];
    const MachineNics& nics = nics_of(static_cast<int>(host));
    const bool is_stated = cluster.network.mb_per_s > 0 || rates[0][host] > 0 || rates[1][host] > 0;
    is_assumed_.push_back(!is_stated && (nics.has_unknown || nics.usable == 0));
    for (auto& rate : rates) {
      if (cluster.network.mb_per_s > 0) rate[host] = cluster.network.mb_per_s;
      if (rate[host] <= 0) rate[host] = nics.usable > 0 ? nics.of_usable : kUnknownMbPerS;
    }
    for (std::size_t direction = 0; direction < 2; ++direction)
      us_per_mb_[direction].push_back(us_per_mb(rates[direction][host]));
  }
}

const HostLinks::MachineNics& HostLinks::nics_of(int host) const {
  return nics_[static_cast<std::size_t>(cluster_.hosts[static_cast<std::size_t>(host)].machine)];
}

double HostLinks::nic_mb_per_s(int host, int nic, Direction direction) const {
  const MachineNics& nics = nics_of(host);
  const double own = nics.mb_per_s[static_cast<std::size_t>(nic)];
  return std::max(own, 1e6 / host_us_per_mb(host, direction) / std::max(nics.usable, 1));
}

double HostLinks::nic_us_per_mb(int host, int nic, Direction direction) const {
  return us_per_mb(nic_mb_per_s(host, nic, direction));
}

double HostLinks::best_nic_us_per_mb(int host, Direction direction) const {
  const MachineNics& nics = nics_of(host);
  if (nics.usable == 0) return 0;
  return us_per_mb(std::max(nics.best, 1e6 / host_us_per_mb(host, direction) / nics.usable));
}

double HostLinks::all_nics_us_per_mb(int host, Direction direction) const {
  const MachineNics& nics = nics_of(host);
  if (nics.usable == 0) return 0;
  const double share = 1e6 / host_us_per_mb(host, direction) / nics.usable;
  double sum = 0;
  for (const int nic : usable_nics(machine_of(cluster_, host)))
    sum += std::max(nics.mb_per_s[static_cast<std::size_t>(nic)], share);
  return us_per_mb(sum);
}

int HostLinks::way(int from, int to) const {
  const auto begin = cluster_.ways.begin();
  const auto first = static_cast<std::ptrdiff_t>(first_way_from_[static_cast<std::size_t>(from)]);
  const auto last =
      static_cast<std::ptrdiff_t>(first_way_from_[static_cast<std::size_t>(from) + 1]);
  const auto found = std::ranges::lower_bound(begin + first, begin + last, to, {}, &HostWay::to);
  return found != begin + last && found->to == to ? static_cast<int>(found - begin) : kNone;
}

double HostLinks::way_us_per_mb(int way) const {
  const double rate = way_at(way).mb_per_s;
  return rate > 0 ? us_per_mb(rate) : 0;
}

double HostLinks::way_latency_us(int way) const {
  const double latency = way_at(way).latency_us;
  return latency > 0 ? latency : latency_us();
}

}  // namespace paceline::topology
