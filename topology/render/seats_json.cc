#include <cstddef>
#include <string>
#include <vector>

#include "comm/base/text.h"
#include "topology/render/json_lines.h"
#include "topology/render/seats_text.h"

namespace paceline::topology {

std::string seats_json_text(const HostModel& host, const std::vector<Seat>& seats) {
  constexpr int kVersion = 1;
  const auto name = [](int place, const auto& devices) {
    return place == kNone ? Json() : Json(printable(devices[static_cast<std::size_t>(place)].name));
  };
  Json all = Json::array();
  for (const Seat& seat : seats)
    all.push_back({{"rank", all.size()},
                   {"gpu", name(seat.gpu, host.gpus)},
                   {"nic", name(seat.nic, host.nics)},
                   {"cpus", seat.cpus.to_text()},
                   {"numa_nodes", seat.numa_nodes},
                   {"shares_cpus", seat.shares_cpus},
                   {"why", printable(seat.why)}});
  const Json document = {{"version", kVersion}, {"placements", all}};
  return document.dump(2) + "\n";
}

}  // namespace paceline::topology
