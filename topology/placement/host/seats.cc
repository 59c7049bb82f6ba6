#include "topology/placement/host/seats.h"

#include <algorithm>
#include <cstddef>

#include "comm/base/text.h"
#include "topology/path/path.h"
#include "topology/placement/host/core_cut.h"
#include "topology/placement/host/gpu_ring.h"
#include "topology/placement/host/nic_choice.h"

namespace paceline::topology {
namespace {

// What a rank is to be near to.
struct Anchor {
  DataPlace data;
  CpuSet cpus;
};

CpuSet near_gpu(const HostModel& host, int gpu) {
  const Fact<Place>& near = host.gpus[static_cast<std::size_t>(gpu)].near;
  return near.is_known() ? near->cpus : CpuSet();
}

// Ranks share GPUs in blocks where there are more of them.
std::vector<Anchor> on_gpus(const HostModel& host, const SeatRequest& request) {
  const std::vector<int> gpus = !request.gpus.empty()
                                    ? request.gpus
                                    : choose_gpus(host, request.ranks, request.crosses_hosts);
  std::vector<Anchor> anchors;
  for (int rank = 0; rank < request.ranks; ++rank) {
    const std::size_t turn =
        static_cast<std::size_t>(rank) * gpus.size() / static_cast<std::size_t>(request.ranks);
    anchors.push_back({.data = {.gpu = gpus[turn]}, .cpus = near_gpu(host, gpus[turn])});
  }
  return anchors;
}

// How soon a node's memory is on the network: the nearest NIC's kind of path.
PathKind nearest_nic(const HostModel& host, int node) {
  PathKind nearest = PathKind::kNet;
  for (const int nic : usable_nics(host))
    nearest = std::min(nearest, path_to_node(host, {DeviceKind::kNic, nic}, node).kind);
  return nearest;
}

struct NodeShare {
  int node = kNone;
  CpuSet cpus;
  int cores = 0;
  int ranks = 0;
  PathKind to_nic = PathKind::kNet;

  // With another rank, as far as this node's cores go: the fuller, the later.
  double fullness() const { return static_cast<double>(ranks + 1) / cores; }
};

std::vector<NodeShare> usable_nodes(const HostModel& host, const SeatRequest& request,
                                    const CpuSet& allowed) {
  std::vector<NodeShare> nodes;
  const std::vector<CpuSet> all = all_cores(host);
  for (const NumaNode& node : cpu_nodes(host)) {
    const int cores = count_cores(all, node.cpus & allowed);
    if (cores == 0) continue;
    nodes.push_back(
        {.node = node.number,
         .cpus = node.cpus,
         .cores = cores,
         .to_nic = request.crosses_hosts ? nearest_nic(host, node.number) : PathKind::kNet});
  }
  return nodes;
}

// Where there are fewer ranks than nodes each has several; its data goes by the nearest NIC of
// them.
std::vector<Anchor> on_several_nodes(const std::vector<NodeShare>& nodes, std::size_t ranks) {
  std::vector<Anchor> anchors(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto begin = nodes.begin() + static_cast<std::ptrdiff_t>(rank * nodes.size() / ranks);
    const auto end = nodes.begin() + static_cast<std::ptrdiff_t>((rank + 1) * nodes.size() / ranks);
    anchors[rank].data.node = std::ranges::min_element(begin, end, {}, &NodeShare::to_nic)->node;
    for (auto node = begin; node != end; ++node) anchors[rank].cpus.add(node->cpus);
  }
  return anchors;
}

// One rank after the other goes where there are the most cores for each; then to the nearest NIC.
std::vector<Anchor> on_nodes(const HostModel& host, const SeatRequest& request,
                             const CpuSet& allowed) {
  std::vector<NodeShare> nodes = usable_nodes(host, request, allowed);
  const auto ranks = static_cast<std::size_t>(request.ranks);
  if (nodes.empty()) return std::vector<Anchor>(ranks);
  if (ranks < nodes.size()) return on_several_nodes(nodes, ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto emptiest = std::ranges::min_element(
        nodes, {}, [](const NodeShare& node) { return std::pair(node.fullness(), node.to_nic); });
    ++emptiest->ranks;
  }
  std::vector<Anchor> anchors;
  for (const NodeShare& node : nodes)
    anchors.insert(anchors.end(), static_cast<std::size_t>(node.ranks),
                   {.data = {.node = node.node}, .cpus = node.cpus});
  return anchors;
}

std::string nodes_text(const std::vector<int>& nodes) {
  std::vector<std::string> words;
  words.reserve(nodes.size());
  for (const int node : nodes) words.push_back(std::to_string(node));
  return words.empty() ? "an unknown NUMA node" : "NUMA node " + list_text(words);
}

// The nodes of a rank's CPUs. A matrix may state several nodes of a GPU, but not whose the CPUs
// are.
const std::vector<int>& nodes_near(const HostModel& host, const DataPlace& place,
                                   const Seat& seat) {
  if (!seat.numa_nodes.empty() || place.gpu == kNone) return seat.numa_nodes;
  const Fact<Place>& near = host.gpus[static_cast<std::size_t>(place.gpu)].near;
  return near.is_known() ? near->numa_nodes : seat.numa_nodes;
}

std::string why(const HostModel& host, const DataPlace& place, const Seat& seat, bool is_near) {
  if (seat.cpus.is_empty()) return "not bound, because no CPU is known";
  const std::string nodes = nodes_text(nodes_near(host, place, seat));
  std::string text;
  if (place.gpu != kNone) {
    text = host.gpus[static_cast<std::size_t>(place.gpu)].name;
    text += is_near ? " is near " + nodes : " has too few usable CPUs nearby; CPUs of " + nodes;
  } else {
    text = "a share of " + nodes;
  }
  if (seat.shares_cpus)
    text += ", shared with other ranks, because there are more ranks than cores";
  if (const std::string kinds = core_kinds_text(host, seat.cpus); !kinds.empty())
    text += "; cores: " + kinds;
  if (seat.nic == kNone) return text;
  const DeviceRef nic{DeviceKind::kNic, seat.nic};
  const Path path = place.gpu != kNone ? path_between(host, {DeviceKind::kGpu, place.gpu}, nic)
                                       : path_to_node(host, nic, place.node);
  return text + "; " + host.nics[static_cast<std::size_t>(seat.nic)].name + " via " +
         std::string(word_of(path.kind));
}

Status too_few(int asked, int there) {
  return {Code::kExhausted, Scope::kOperation,
          std::to_string(asked) + " cores are needed, but the host has " + std::to_string(there)};
}

}  // namespace

Result<std::vector<Seat>> seat_ranks(const HostModel& host, const SeatRequest& request) {
  const CpuSet allowed = request.cpus.is_empty() ? host.cpus : request.cpus & host.cpus;
  if (allowed.is_empty() && !host.cpus.is_empty())
    return Status(Code::kUnavailable, Scope::kOperation, "no usable CPU is known");
  const int cores = count_cores(all_cores(host), allowed);
  if (!allowed.is_empty() && request.cores_each * request.ranks > cores)
    return too_few(request.cores_each * request.ranks, cores);
  const bool has_gpus = request.uses_gpus && !host.gpus.empty();
  const std::vector<Anchor> anchors =
      has_gpus ? on_gpus(host, request) : on_nodes(host, request, allowed);
  std::vector<DataPlace> places;
  std::vector<CpuSet> near;
  for (const Anchor& anchor : anchors) {
    places.push_back(anchor.data);
    near.push_back(anchor.cpus);
  }
  // On a machine whose CPUs are not known, ranks are not bound.
  const std::vector<CoreShare> shares = allowed.is_empty()
                                            ? std::vector<CoreShare>(places.size())
                                            : cut_cores(host, allowed, near, request.cores_each);
  const NicChoice nics = choose_nics(host, places);
  std::vector<Seat> seats;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    Seat seat{.gpu = places[rank].gpu,
              .nic = request.crosses_hosts ? nics.nics[rank] : kNone,
              .cpus = shares[rank].cpus,
              .numa_nodes = numa_nodes_of(host, shares[rank].cpus),
              .shares_cpus = shares[rank].is_shared};
    seat.why = why(host, places[rank], seat, shares[rank].is_near);
    seats.push_back(std::move(seat));
  }
  return seats;
}

}  // namespace paceline::topology
