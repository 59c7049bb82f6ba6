#include "tests/harness/host_maps.h"

#include <algorithm>
#include <map>
#include <utility>

namespace paceline::testing {

HostNumbers hosts_with(const std::vector<int>& counts) {
  HostNumbers hosts;
  for (std::size_t host = 0; host < counts.size(); ++host)
    hosts.insert(hosts.end(), static_cast<std::size_t>(counts[host]), static_cast<int>(host));
  return hosts;
}

std::vector<HostNumbers> equal_maps(int least, int most, int ranks) {
  std::vector<HostNumbers> maps;
  for (int hosts = least; hosts <= most; ++hosts)
    for (int each = 1; each <= ranks; ++each)
      maps.push_back(hosts_with(std::vector<int>(static_cast<std::size_t>(hosts), each)));
  return maps;
}

std::vector<HostNumbers> maps_of_two_counts(int least, int most, int ranks) {
  std::vector<HostNumbers> maps;
  for (int hosts = least; hosts <= most; ++hosts) {
    for (int few = 1; few < ranks; ++few) {
      for (int many = few + 1; many <= ranks; ++many) {
        // Each bit is a host with the larger count.
        for (std::uint32_t which = 1; which + 1 < (1U << hosts); ++which) {
          std::vector<int> counts;
          for (int host = 0; host < hosts; ++host)
            counts.push_back((which >> host & 1U) != 0 ? many : few);
          maps.push_back(hosts_with(counts));
        }
      }
    }
  }
  return maps;
}

HostNumbers random_map(Random& random) {
  std::vector<int> counts(2 + random.below(7));
  for (int& count : counts) count = static_cast<int>(1 + random.below(8));
  HostNumbers hosts = hosts_with(counts);
  for (std::size_t i = hosts.size(); i > 1; --i) std::swap(hosts[i - 1], hosts[random.below(i)]);
  // Hosts are numbered in the order of their first ranks.
  std::map<int, int> numbers;
  for (int& host : hosts)
    host = numbers.emplace(host, static_cast<int>(numbers.size())).first->second;
  return hosts;
}

}  // namespace paceline::testing
