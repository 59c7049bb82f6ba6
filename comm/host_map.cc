#include "comm/host_map.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <numeric>

#include <sys/stat.h>

#include "comm/base/random.h"
#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline {

HostMap HostMap::apart(int processes) {
  std::vector<int> names(static_cast<std::size_t>(processes));
  std::iota(names.begin(), names.end(), 0);
  return of(names);
}

int HostMap::place_of(int process) const {
  const std::vector<int>& all = beside(process);
  return static_cast<int>(std::ranges::find(all, process) - all.begin());
}

HostMap HostMap::part(const std::vector<int>& some) const {
  std::vector<int> names;
  for (const int process : some) names.push_back(host[static_cast<std::size_t>(process)]);
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
