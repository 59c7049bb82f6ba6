// Which processes of a group may share memory: those on one boot of a kernel that see the same
// folder for it. Neither the environment nor the hosts' names are believed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/exchange.h"

namespace paceline {

/// The same on all processes.
struct HostMap {
  std::vector<int> host;                    ///< by process: the number of its host
  std::vector<std::vector<int>> processes;  ///< by host, in the order of their first: ascending

  /// Each process is on a host of its own.
  static HostMap apart(int processes);
  /// From the host of each, by any names.
  template <class Name>
  static HostMap of(const std::vector<Name>& names);

  int hosts() const { return static_cast<int>(processes.size()); }
  bool is_one() const { return hosts() == 1; }
  /// Is any host that of several?
  bool some_share() const { return processes.size() < host.size(); }
  const std::vector<int>& beside(int process) const {
    return processes[static_cast<std::size_t>(host[static_cast<std::size_t>(process)])];
  }
  /// Where it stands among those of its host.
  int place_of(int process) const;
  /// Of some of the processes: which of them share a host, by their place in `some`.
  HostMap part(const std::vector<int>& some) const;
};

template <class Name>
HostMap HostMap::of(const std::vector<Name>& names) {
  HostMap map;
  std::map<Name, int> known;
  for (const Name& name : names) {
    const int host = known.emplace(name, map.hosts()).first->second;
    if (host == map.hosts()) map.processes.emplace_back();
    map.processes[static_cast<std::size_t>(host)].push_back(static_cast<int>(map.host.size()));
    map.host.push_back(host);
  }
  return map;
}

/// Collective: those that may share memory in `folder`. An error is the exchange's.
Result<HostMap> map_hosts(Exchange& exchange, const std::string& folder, Deadline deadline);

}  // namespace paceline
