#include "topology/placement/plan_maker.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "comm/base/try.h"
#include "topology/placement/cost/cost.h"
#include "topology/placement/servers/server_seats.h"

namespace paceline::topology {
namespace {

class PlanMaker {
 public:
  PlanMaker(HostKinds& kinds, const ServerRules& rules, const Arrangement& arrangement)
      : kinds_(kinds),
        rules_(rules),
        arrangement_(arrangement),
        ranks_(kinds.cluster().hosts.size()),
        servers_(ranks_.size()) {}

  Result<Plan> make() {
    for (std::size_t rank = 0; rank < arrangement_.host_of.size(); ++rank)
      ranks_[static_cast<std::size_t>(arrangement_.host_of[rank])].push_back(rank);
    if (kinds_.job().servers > 0) {
      split_ = rules_.split(arrangement_.host_of);
      if (split_) servers_ = rules_.servers_by_host(*split_);
    }
    int used = 0;
    for (std::size_t host = 0; host < ranks_.size(); ++host)
      used += !ranks_[host].empty() || servers_[host] > 0 ? 1 : 0;
    crosses_ = used > 1;
    plan_.ranks.resize(arrangement_.host_of.size());
    for (std::size_t host = 0; host < ranks_.size(); ++host) PACELINE_TRY(fill(host));
    plan_.parts = cost_parts(kinds_.cluster(), kinds_.job(), plan_.ranks, plan_.servers);
    for (const CostPart& part : plan_.parts) plan_.cost_us += part.us;
    return std::move(plan_);
  }

 private:
  Status fill(std::size_t host) {
    const int number = static_cast<int>(host);
    CpuSet taken;
    if (!ranks_[host].empty()) {
      PACELINE_TRY_ASSIGN(const std::vector<Seat> seats,
                          kinds_.seats(number, arrangement_.gpus[host],
                                       static_cast<int>(ranks_[host].size()), crosses_));
      for (std::size_t i = 0; i < seats.size(); ++i) {
        plan_.ranks[ranks_[host][i]] = {.host = number, .seat = seats[i]};
        taken.add(seats[i].cpus);
      }
    }
    if (servers_[host] == 0) return {};
    PACELINE_TRY_ASSIGN(const std::vector<Seat> seats,
                        seat_servers(machine_of(kinds_.cluster(), number),
                                     {.servers = servers_[host],
                                      .cpus = cpus_of(kinds_.cluster(), number),
                                      .taken = taken,
                                      .crosses_hosts = crosses_}));
    for (const Seat& seat : seats)
      plan_.servers.push_back({.place = {.host = number, .seat = seat},
                               .share = split_->shares[host] / servers_[host]});
    return {};
  }

  HostKinds& kinds_;
  const ServerRules& rules_;
  const Arrangement& arrangement_;
  std::vector<std::vector<std::size_t>> ranks_;  // by host
  std::vector<int> servers_;                     // by host
  std::optional<ServerSplit> split_;
  bool crosses_ = false;
  Plan plan_;
};

}  // namespace

Result<Plan> make_plan(HostKinds& kinds, const ServerRules& rules, const Arrangement& arrangement) {
  return PlanMaker(kinds, rules, arrangement).make();
}

}  // namespace paceline::topology
