#include "topology/placement/search/host_loads.h"

#include <algorithm>

namespace paceline::topology {

HostLoads::HostLoads(const std::vector<TrafficPart>& parts, const HostLinks& links,
                     const std::vector<HostFloor>& floors, int ranks)
    : parts_(parts), links_(links), host_of_(static_cast<std::size_t>(ranks), kNone) {
  const std::size_t resources = unmeasured() + 1;
  us_per_mb_.resize(resources);
  latency_us_.resize(resources);
  for (std::size_t host = 0; host < hosts(); ++host) {
    const HostFloor& floor = floors[host];
    us_per_mb_[2 * hosts() + host] = floor.inside.us_per_mb;
    latency_us_[2 * hosts() + host] = floor.inside.latency_us;
    for (const Direction way : {Direction::kOut, Direction::kIn}) {
      const auto i = static_cast<std::size_t>(way);
      us_per_mb_[i * hosts() + host] = links.host_us_per_mb(static_cast<int>(host), way);
      us_per_mb_[(3 + i) * hosts() + host] = floor.leaving_us_per_mb[i];
    }
  }
  for (int way = 0; way < links.ways(); ++way) {
    us_per_mb_[first_way() + static_cast<std::size_t>(way)] = links.way_us_per_mb(way);
    latency_us_[first_way() + static_cast<std::size_t>(way)] = links.way_latency_us(way);
  }
  latency_us_[unmeasured()] = links.latency_us();
  loads_.assign(parts.size(), {.busy = MaxTree(resources),
                               .late = MaxTree(resources),
                               .edges = std::vector<int>(resources)});
}

void HostLoads::put_all(const std::vector<int>& host_of) {
  host_of_ = host_of;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = loads_[i];
    for (std::size_t rank = 0; rank < host_of.size(); ++rank)
      for_each_receiver(parts_[i], static_cast<int>(rank), [&](int peer) {
        for_each_resource(host_of[rank], host_of[static_cast<std::size_t>(peer)],
                          [&](std::size_t resource) { ++part.edges[resource]; });
      });
    for (std::size_t resource = 0; resource <= unmeasured(); ++resource)
      if (part.edges[resource] > 0) refresh(part, parts_[i].mb, resource);
  }
}

void HostLoads::put(int rank, int host) {
  host_of_[static_cast<std::size_t>(rank)] = host;
  change_edges(rank, 1);
}

void HostLoads::take(int rank) {
  change_edges(rank, -1);
  host_of_[static_cast<std::size_t>(rank)] = kNone;
}

void HostLoads::change_edges(int rank, int by) {
  const int host = host_of_[static_cast<std::size_t>(rank)];
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto change = [&](int from, int to) {
      for_each_resource(from, to, [&](std::size_t resource) {
        loads_[i].edges[resource] += by;
        refresh(loads_[i], parts_[i].mb, resource);
      });
    };
    for_each_receiver(parts_[i], rank, [&](int peer) {
      const int other = host_of_[static_cast<std::size_t>(peer)];
      if (other != kNone) change(host, other);
    });
    for_each_sender(parts_[i], rank, [&](int peer) {
      const int other = host_of_[static_cast<std::size_t>(peer)];
      if (other != kNone) change(other, host);
    });
  }
}

template <class Visit>
void HostLoads::for_each_resource(int from, int to, Visit visit) const {
  const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
  if (from == to) return visit(2 * hosts() + a);
  visit(a);
  visit(hosts() + b);
  visit(3 * hosts() + a);
  visit(4 * hosts() + b);
  const int way = links_.way(from, to);
  visit(way == kNone ? unmeasured() : first_way() + static_cast<std::size_t>(way));
}

void HostLoads::refresh(Part& part, double mb, std::size_t resource) {
  const int edges = part.edges[resource];
  const double us = mb * us_per_mb_[resource] * (is_shared(resource) ? edges : std::min(edges, 1));
  if (is_shared(resource)) burden_us_ += us - part.busy.at(resource);
  part.busy.set(resource, us);
  if (latency_us_[resource] > 0) part.late.set(resource, edges > 0 ? latency_us_[resource] : 0);
}

PartTime HostLoads::part(std::size_t part) const {
  return {.busiest_us = loads_[part].busy.max(), .latest_us = loads_[part].late.max()};
}

double HostLoads::cost_us() const {
  double cost = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    cost += parts_[i].rounds * loads_[i].late.max() + loads_[i].busy.max();
  return cost;
}

std::vector<int> HostLoads::hot_hosts() const {
  std::vector<int> hot;
  for (const Part& part : loads_) {
    if (part.busy.max() > 0) add_hosts_of(part.busy.largest(), hot);
    if (part.late.max() > 0) add_hosts_of(part.late.largest(), hot);
  }
  std::ranges::sort(hot);
  hot.erase(std::unique(hot.begin(), hot.end()), hot.end());
  return hot;
}

void HostLoads::add_hosts_of(std::size_t resource, std::vector<int>& hosts_found) const {
  if (resource < first_way()) {
    hosts_found.push_back(static_cast<int>(resource % hosts()));
  } else if (resource < unmeasured()) {
    const HostWay& way = links_.way_at(static_cast<int>(resource - first_way()));
    hosts_found.push_back(way.from);
    hosts_found.push_back(way.to);
  }
}

}  // namespace paceline::topology
