#include "comm/host_map.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <map>

#include <sys/stat.h>

#include "comm/base/random.h"
#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline {

HostMap HostMap::apart(int processes) {
  HostMap map;
  for (int process = 0; process < processes; ++process) {
    map.host.push_back(process);
    map.processes.push_back({process});
  }
  return map;
}

HostMap HostMap::of(const std::vector<std::string>& names) {
  HostMap map;
  std::map<std::string, int> known;
  for (const std::string& name : names) {
    const int host = known.emplace(name, map.hosts()).first->second;
    if (host == map.hosts()) map.processes.emplace_back();
    map.processes[static_cast<std::size_t>(host)].push_back(static_cast<int>(map.host.size()));
    map.host.push_back(host);
  }
  return map;
}

int HostMap::place_of(int process) const {
  const std::vector<int>& all = beside(process);
  return static_cast<int>(std::ranges::find(all, process) - all.begin());
}

HostMap HostMap::part(const std::vector<int>& some) const {
  std::vector<std::string> names;
  for (const int process : some)
    names.push_back(std::to_string(host[static_cast<std::size_t>(process)]));
  return of(names);
}

Result<HostMap> map_hosts(Exchange& exchange, const std::string& folder, Deadline deadline) {
  std::string here;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> here;
  // Without one it tells nothing from others: then nobody shares memory with this process.
  if (here.empty()) {
    std::array<std::byte, 16> nonce{};
    PACELINE_TRY(fill_system_random(nonce));
    here = to_hexadecimal(nonce);
  }
  struct stat found {};
  if (::stat(folder.c_str(), &found) == 0)
    here += " " + std::to_string(found.st_dev) + " " + std::to_string(found.st_ino);
  PACELINE_TRY_ASSIGN(const auto all,
                      exchange.all({.key = "host", .task = "said where it runs"}, here, deadline));
  return HostMap::of(all);
}

}  // namespace paceline
